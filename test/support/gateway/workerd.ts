// Workers in workerd itself: no Miniflare between a client and them, and a process of their own. It starts in a fifth
// of the CPU time.

import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { parse } from "smol-toml";
import { isRunning, spawnTied } from "../../../scripts/machine/tied-process.ts";

/** One isolate. */
export interface WorkerdWorker {
  readonly name: string;
  readonly code: string;
  /** What a wrangler.toml says; default the gateway's. */
  readonly wrangler?: Compatibility;
  /** A string is a text; everything else is JSON, numbers too. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** Service bindings: the name of a Worker, or `http://host:port` of a server. */
  readonly services?: Readonly<Record<string, string | { readonly name: string; readonly entrypoint: string }>>;
  /** The server that gets everything that the Worker fetches, whatever its URL: `http://host:port`. */
  readonly network?: string | undefined;
  /** `request.cf` of every request; default none. */
  readonly cf?: object | undefined;
  /** The binding COUNTS: a Durable Object of this process, with nothing in it. A name: that of another Worker. */
  readonly counts?: true | string | undefined;
  /** The binding STATS, in the same way. */
  readonly stats?: true | string | undefined;
}

export interface Compatibility {
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
}

interface WorkerdOptions {
  /** The port of the first Worker, on loopback. Default: any free port. */
  readonly port?: number | undefined;
  /** The folder of what Durable Objects store; it stays. Default: a folder in memory that goes with the process. */
  readonly objects?: string | undefined;
  /** Gets what the Workers write to the console, and what workerd itself has to say, message by message. */
  readonly onLog?: ((message: string) => void) | undefined;
}

export interface Workerd {
  /** The port of the first Worker. */
  readonly port: number;
  /** The port of each Worker, by its name. */
  readonly ports: Readonly<Record<string, number>>;
  readonly pid: number;
  /** Ends the process and every connection at once. */
  stop(): Promise<void>;
}

const ROOT = new URL("../../../", import.meta.url);
const PROGRAM = fileURLToPath(new URL("node_modules/workerd/bin/workerd", ROOT));
/** The header field in which such a server finds `request.cf`, as JSON. Its `Host` is that of the URL. */
const CF_HEADER = "CF-Blob";

/** Resolves when the ports are open, one for each Worker. */
export async function startWorkerd(
  workers: readonly [WorkerdWorker, ...WorkerdWorker[]],
  { port = 0, objects: kept, onLog }: WorkerdOptions = {},
): Promise<Workerd> {
  const directory = mkdtempSync(join(tmpdir(), "headgate-workerd-"));
  try {
    for (const [i, { code }] of workers.entries()) writeFileSync(join(directory, `${i}.js`), code);
    const objects = kept ?? mkdtempSync(join(parentOfObjects(), "headgate-objects-"));
    writeFileSync(join(directory, "config.capnp"), config(workers, port, objects));
    // File descriptor 3 is where workerd says which port it has opened.
    const child = spawnTied(PROGRAM, ["serve", "config.capnp", "--control-fd=3"], {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    const gone = once(child, "close");
    if (kept === undefined) child.once("close", () => rmSync(objects, { recursive: true }));
    let last = "";
    for (const stream of [child.stdout!, child.stderr!]) {
      createInterface(stream).on("line", (line) => {
        const message = messageOf(line);
        last = message;
        onLog?.(message);
      });
    }
    const ports: Record<string, number> = {};
    const listening = new Promise<void>((resolve) => {
      createInterface(child.stdio[3] as Readable).on("line", (line) => {
        const { socket, port } = JSON.parse(line) as { socket: string; port: number };
        ports[socket] = port;
        if (Object.keys(ports).length === workers.length) resolve();
      });
    });
    await Promise.race([listening, gone]);
    if (!isRunning(child)) throw new Error(`expected workerd to start; it said: ${last}`);
    return {
      port: ports[workers[0].name]!,
      ports,
      pid: child.pid!,
      async stop() {
        child.kill("SIGKILL");
        await gone;
      },
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** A folder of Linux in memory. */
const IN_MEMORY = "/dev/shm";
/** Containers often have less of it. */
const MEMORY_BYTES = 2 ** 30;

/**
 * Objects wait for the disk after each change: a third of the CPU time, and two thirds of the time, of tests that do
 * little more. Memory outlives a killed process as a disk does.
 */
function parentOfObjects(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize >= MEMORY_BYTES ? IN_MEMORY : tmpdir();
}

/** workerd writes objects, except when it cannot even read its configuration. */
function messageOf(line: string): string {
  return line.startsWith("{") ? (JSON.parse(line) as { message: string }).message : line;
}

/** The classes of objects by their bindings. */
const CLASSES = { COUNTS: "HeadgateCounts", STATS: "HeadgateStats" };

/** @see workerd.capnp in the package `workerd` */
function config(workers: readonly WorkerdWorker[], port: number, objects: string): string {
  const shipped = parse(readFileSync(new URL("wrangler.toml", ROOT), "utf8")) as unknown as Compatibility;
  const servers = new Set<string>();
  const serviceName = (service: string) => {
    if (service.startsWith("http://")) servers.add(service);
    return text(service);
  };
  const services = workers.map((worker, i) => {
    const { name, bindings = {}, services = {}, network = "internet", cf, counts, stats, wrangler = shipped } = worker;
    const bound = (
      [
        ["COUNTS", counts],
        ["STATS", stats],
      ] as const
    ).filter(([, where]) => where !== undefined);
    const own = bound.flatMap(([binding, where]) => (where === true ? [binding] : []));
    const list = [
      ...Object.entries(bindings).map(([key, value]) =>
        typeof value === "string"
          ? `(name = ${text(key)}, text = ${text(value)})`
          : `(name = ${text(key)}, json = ${text(JSON.stringify(value))})`,
      ),
      ...Object.entries(services).map(([key, service]) =>
        typeof service === "string"
          ? `(name = ${text(key)}, service = ${serviceName(service)})`
          : `(name = ${text(key)}, service = (name = ${text(service.name)}, entrypoint = ${text(service.entrypoint)}))`,
      ),
      ...bound.map(([binding, where]) => {
        const elsewhere = where === true ? "" : `, serviceName = ${text(where!)}`;
        const namespace = `(className = "${CLASSES[binding]}"${elsewhere})`;
        return `(name = "${binding}", durableObjectNamespace = ${namespace})`;
      }),
    ];
    const namespaces = own.map(
      (binding) => `(className = "${CLASSES[binding]}", uniqueKey = "${binding.toLowerCase()}", enableSql = true)`,
    );
    const objects = `
      durableObjectNamespaces = [${namespaces}],
      durableObjectStorage = (localDisk = "objects"),`;
    const main = cf && `(name = "cf.js", esModule = ${text(withCf(cf))}), `;
    return `(name = ${text(name)}, worker = (
      modules = [${main ?? ""}(name = "worker.js", esModule = embed "${i}.js")],
      compatibilityDate = ${text(wrangler.compatibility_date)},
      compatibilityFlags = [${wrangler.compatibility_flags.map(text)}],
      bindings = [${list}],
      globalOutbound = ${serviceName(network)},${own.length > 0 ? objects : ""}
    ))`;
  });
  const externals = [...servers].map((url) => {
    const address = text(new URL(url).host);
    return `(name = ${text(url)}, external = (address = ${address}, http = (cfBlobHeader = "${CF_HEADER}")))`;
  });
  const sockets = workers.map(({ name }, i) => {
    const address = `127.0.0.1:${i === 0 ? port : 0}`;
    return `(name = ${text(name)}, address = ${text(address)}, http = (), service = ${text(name)})`;
  });
  const disk = `(name = "objects", disk = (path = ${text(objects)}, writable = true))`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "internet", network = (allow = ["public", "private"])), ${[disk, ...services, ...externals]}],
  sockets = [${sockets}],
  logging = (structuredLogging = true),
);
`;
}

/** A Worker around the Worker. It gives every request this `request.cf`, as Cloudflare does. */
function withCf(cf: object): string {
  return `import worker from "worker.js";
export * from "worker.js";
const cf = ${JSON.stringify(cf)};
export default { fetch: (request, env, ctx) => worker.fetch(new Request(request, { cf }), env, ctx) };
`;
}

const text = (value: string) => JSON.stringify(value);
