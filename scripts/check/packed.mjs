/**
 * `npm run test:packed -- headgate-<version>.tgz`: installs the tarball into an empty folder and uses it on the Node
 * that runs this, on any system. A module of JavaScript, because Node 20 and 22 may not know TypeScript.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const EXAMPLE = fileURLToPath(new URL("../../examples/express/http.mjs", import.meta.url));
/** How long the example may take to listen, in ms. */
const START_TIMEOUT_MS = 30_000;

const [tarball] = process.argv.slice(2);
if (tarball === undefined) throw new Error("expected the path of a tarball");
const folder = mkdtempSync(join(tmpdir(), "headgate-packed-"));
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  // npm is a script of the shell on Windows.
  run(`npm install --no-audit --no-fund "${resolve(tarball)}" hono`, [], { shell: true });
  const installed = join(folder, "node_modules/headgate");
  const { version, exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));

  // Only a Worker can load the other two.
  const entries = Object.keys(exports).filter((entry) => !["./durable-object", "./worker"].includes(entry));
  const imports = entries.map((entry) => `await import("headgate${entry.slice(1)}");`);
  run(process.execPath, ["--input-type=module", "--eval", imports.join("\n")]);
  const required = entries.filter((entry) => "require" in exports[entry]);
  // Node that can require ES modules never takes these files by their name.
  const requires = required.map((entry) => `require(${JSON.stringify(join(installed, exports[entry].require))});`);
  run(process.execPath, ["--input-type=commonjs", "--eval", requires.join("\n")]);
  console.log(`${entries.length} entries can be imported, and ${required.length} required`);

  const printed = run("npx headgate --version", [], { shell: true }).trim();
  if (printed !== version) throw new Error(`npx headgate --version: expected ${version}, found ${printed}`);
  const cli = join(installed, "dist/cli/headgate.js");
  run(process.execPath, [cli, "init", "demo"]);
  run(process.execPath, [cli, "check", "demo/wrangler.toml"]);
  console.log("headgate init writes a configuration that headgate check accepts");

  copyFileSync(EXAMPLE, join(folder, "http.mjs"));
  const statuses = await ask(3);
  console.log(`a server under a limit of 2 answers ${statuses.join(" ")}`);
  if (statuses.join(" ") !== "200 200 429") process.exitCode = 1;
} finally {
  // On Windows a file may be in use for a moment after its process has ended.
  rmSync(folder, { recursive: true, maxRetries: 10, retryDelay: 200 });
}
console.log(`Node ${process.version} on ${process.platform}: ${process.exitCode ? "failed" : "passed"}`);

/** What the command prints. @throws if it fails. */
function run(command, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${[command, ...args].join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}

/** The statuses of requests to the example, which counts in memory. */
async function ask(requests) {
  const port = await freePort();
  const child = spawn(process.execPath, ["http.mjs"], { cwd: folder, env: { ...process.env, PORT: String(port) } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const gone = once(child, "exit");
  try {
    for (let waitedMs = 0; !output.includes("listening"); waitedMs += 50) {
      if (child.exitCode !== null || waitedMs > START_TIMEOUT_MS) throw new Error(`http.mjs did not start:\n${output}`);
      await sleep(50);
    }
    const statuses = [];
    while (statuses.length < requests) statuses.push((await fetch(`http://127.0.0.1:${port}/`)).status);
    return statuses;
  } finally {
    child.kill();
    await gone;
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
