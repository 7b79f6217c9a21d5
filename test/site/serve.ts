// Builds the site, and serves its files as a static host does.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  ...{ ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" },
  ...{ ".json": "application/json", ".txt": "text/plain", ".md": "text/plain" },
};

/** Where the files of the repository are, for the links of the site that is tested. */
export const SOURCE_URL = "https://source.example/headgate";

/** @returns the folder of the files. */
export function buildSite(): string {
  const out = join(ROOT, "site/dist");
  rmSync(out, { recursive: true, force: true });
  execFileSync("node_modules/.bin/node", ["node_modules/.bin/vitepress", "build", "site"], {
    cwd: ROOT,
    stdio: "pipe",
    env: { ...process.env, SOURCE_URL },
  });
  return out;
}

/** The file of an address, by the rules of static hosts: a folder is its index.html, and `.html` may be left out. */
export function fileOf(folder: string, path: string): string | undefined {
  const file = join(folder, decodeURI(path));
  return [file, `${file}.html`, join(file, "index.html")].find((one) =>
    statSync(one, { throwIfNoEntry: false })?.isFile(),
  );
}

export async function serve(folder: string): Promise<{ readonly origin: string; close(): void }> {
  const server = createServer((request, response) => {
    const file = fileOf(folder, new URL(request.url!, "http://site").pathname);
    response.statusCode = file ? 200 : 404;
    response.setHeader("Content-Type", TYPES[extname(file ?? "404.html")] ?? "application/octet-stream");
    response.end(readFileSync(file ?? join(folder, "404.html")));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}
