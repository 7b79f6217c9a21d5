// A TCP proxy in front of a Redis that can fail at any time, and counts the scripts that a client sends.

import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "../../../scripts/machine/redis-server.ts";

/** How the proxy fails. */
export type TcpFault =
  /** Nobody listens, and open connections are closed. */
  | "refused"
  /** Connections are accepted, and nothing is passed on. At the end of this fault open connections are closed. */
  | "hanging"
  /** A script is passed on and runs. Its reply is not passed on: the connection is cut. */
  | "cut-after"
  /** A connection that is used meanwhile never answers again, also afterwards: its peer has gone without a word. */
  | "silent"
  /** A connection that is used meanwhile answers READONLY from then on: its peer is no primary any more. */
  | "demoted"
  /** Every script is answered with this error, and does not run. */
  | { readonly says: string };

export interface TcpProxy {
  readonly port: number;
  /** The EVALSHA and EVAL that clients have sent here. */
  scripts: number;
  /** The connections that clients have opened. */
  connections: number;
  /** Undefined: all is passed on from now on. */
  fail(fault: TcpFault | undefined): Promise<void>;
  close(): Promise<void>;
}

const SCRIPT = /\r\n(EVALSHA|EVAL)\r\n/gi;

export async function startTcpProxy(redisPort: number): Promise<TcpProxy> {
  const port = await freePort();
  const open = new Set<Socket>();
  let fault: TcpFault | undefined;
  let server: Server | undefined;

  function pair(client: Socket): void {
    const redis = connect(redisPort, "127.0.0.1").setNoDelay(true);
    client.setNoDelay(true);
    proxy.connections++;
    let isCut = false;
    let lasting: "silent" | "demoted" | undefined;
    for (const [from, to] of [
      [client, redis],
      [redis, client],
    ] as const) {
      open.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
    client.on("data", (sent) => {
      const scripts = sent.toString("latin1").match(SCRIPT)?.length ?? 0;
      proxy.scripts += scripts;
      if (fault === "silent" || fault === "demoted") lasting = fault;
      if (fault === "hanging" || lasting === "silent") return;
      if (scripts > 0 && lasting) return void client.write("-READONLY no primary any more\r\n".repeat(scripts));
      if (scripts > 0 && typeof fault === "object") return void client.write(`-${fault.says}\r\n`.repeat(scripts));
      if (scripts > 0 && fault === "cut-after") isCut = true;
      redis.write(sent);
    });
    redis.on("data", (reply) => {
      if (isCut) client.destroy();
      else if (fault !== "hanging") client.write(reply);
    });
  }

  async function listen(): Promise<void> {
    server = createServer(pair);
    await new Promise<void>((resolve) => server!.listen(port, "127.0.0.1", resolve));
  }

  async function stopListening(): Promise<void> {
    if (!server) return;
    const closed = new Promise((resolve) => server!.close(resolve));
    server = undefined;
    for (const socket of open) socket.destroy();
    await closed;
  }

  const proxy: TcpProxy = {
    port,
    scripts: 0,
    connections: 0,
    async fail(next) {
      // What has been swallowed is missing: no reply would find its command.
      if (fault === "hanging") for (const socket of open) socket.destroy();
      fault = next;
      if (fault === "refused") await stopListening();
      else if (!server) await listen();
    },
    close: stopListening,
  };
  await listen();
  return proxy;
}
