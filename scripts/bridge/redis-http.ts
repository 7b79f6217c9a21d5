// `npm run redis-http -- --port 8079 --token T [--redis redis://…]`: the REST bridge as a program. Development only.

import { parseArgs } from "node:util";
import { whenOrphaned } from "../machine/tied-process.ts";
import { createBridge } from "./bridge.ts";

const USAGE = "usage: npm run redis-http -- --port 8079 --token T [--redis redis://127.0.0.1:6379]";

function refuse(problem: string): never {
  console.error(`redis-http: ${problem}\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        port: { type: "string", default: "8079" },
        token: { type: "string", default: "" },
        redis: { type: "string", default: "redis://127.0.0.1:6379" },
      },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const values = readArguments();
const port = Number(values.port);
if (!/^\d{1,5}$/.test(values.port) || port > 65_535) {
  refuse(`--port: expected 0 to 65535 (0: any free port), found ${JSON.stringify(values.port)}`);
}
// Only visible ASCII fits into an Authorization header.
if (!/^[\x21-\x7e]+$/.test(values.token)) {
  refuse(`--token: expected visible ASCII characters, found ${values.token === "" ? "none" : "others"}`);
}
const redisUrl = URL.canParse(values.redis) ? new URL(values.redis) : undefined;
if (redisUrl?.protocol !== "redis:" && redisUrl?.protocol !== "rediss:") {
  refuse("--redis: expected a URL such as redis://127.0.0.1:6379, found something else");
}

const bridge = await createBridge({ redisUrl: values.redis, token: values.token, port }).catch((error) =>
  error.code === "EADDRINUSE" ? refuse(`--port: expected a free port, found ${port} in use`) : refuse(error.message),
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void bridge.close());
whenOrphaned(() => void bridge.close());
// Print only the host: the URL may hold a password.
const state = bridge.redisReachable ? "" : ", which does not answer yet: 500 until it does";
console.log(`redis-http: ${bridge.url} → Redis at ${redisUrl.host}${state}`);
