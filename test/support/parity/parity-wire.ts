// A connection that sends many commands at once and reads their replies: RESP2 with a text as one byte for each
// character. Parity sends half a million commands, and a client for all purposes takes longer for them than Redis does.

import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";

/** The name of a command and its arguments. Bytes are text too (latin1). */
export type Command = readonly string[];

export type Reply = number | string | null | { readonly error: string } | readonly Reply[];

export interface ParityWire {
  /** One reply for each command, in their order. One call at a time. */
  run(commands: readonly Command[]): Promise<Reply[]>;
  close(): void;
}

/** @param url `redis://…` or `rediss://…`, with a password and a database if need be. */
export async function parityWire(url: string): Promise<ParityWire> {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const address = { host: hostname, port: Number(port || 6379) };
  const socket = protocol === "rediss:" ? connectTls({ ...address, servername: hostname }) : connect(address);
  socket.setNoDelay(true).setEncoding("latin1");
  let failed: Error | undefined;
  let waiting: { readonly read: (chunk: string) => void; readonly fail: (error: Error) => void } | undefined;
  const fail = (error = new Error("Redis has closed the connection")) => {
    failed ??= error;
    waiting?.fail(failed);
  };
  socket.on("data", (chunk: string) => waiting?.read(chunk));
  socket.on("error", fail);
  socket.on("close", () => fail());

  const wire: ParityWire = {
    async run(commands) {
      if (failed) throw failed;
      // Nothing else replies this: with it, all replies are here.
      const mark = randomUUID();
      const text = await new Promise<string>((resolve, reject) => {
        let received = "";
        const read = (chunk: string) => {
          received += chunk;
          if (received.endsWith(`${mark}\r\n`)) resolve(received);
        };
        waiting = { read, fail: reject };
        socket.write([...commands, ["ECHO", mark]].map(encode).join(""), "latin1");
      });
      return repliesIn(text).slice(0, -1);
    },
    close: () => socket.destroy(),
  };

  const hello: Command[] = [];
  if (password) hello.push(["AUTH", ...(username ? [decodeURIComponent(username)] : []), decodeURIComponent(password)]);
  if (pathname.length > 1) hello.push(["SELECT", pathname.slice(1)]);
  const refused = (await wire.run(hello)).find(isError);
  if (refused) throw new Error(refused.error);
  return wire;
}

/** @returns the hash by which EVALSHA knows it. Throws if it does not compile. */
export async function loadScript(wire: ParityWire, script: string): Promise<string> {
  const [sha1] = await wire.run([["SCRIPT", "LOAD", Buffer.from(script).toString("latin1")]]);
  if (typeof sha1 !== "string") throw new Error(`Redis refuses the script: ${JSON.stringify(sha1)}`);
  return sha1;
}

export function isError(reply: Reply): reply is { readonly error: string } {
  return typeof reply === "object" && reply !== null && "error" in reply;
}

function encode(command: Command): string {
  let text = `*${command.length}\r\n`;
  for (const argument of command) text += `$${argument.length}\r\n${argument}\r\n`;
  return text;
}

function repliesIn(text: string): Reply[] {
  let at = 0;
  const next = (): Reply => {
    const end = text.indexOf("\r\n", at);
    const kind = text[at];
    const line = text.slice(at + 1, end);
    at = end + 2;
    if (kind === "+") return line;
    if (kind === "-") return { error: line };
    const number = Number(line);
    if (kind === ":") return number;
    if (number < 0) return null;
    if (kind === "*") return Array.from({ length: number }, next);
    at += number + 2;
    return text.slice(at - number - 2, at - 2);
  };
  const replies: Reply[] = [];
  while (at < text.length) replies.push(next());
  return replies;
}
