/** The files of a new gateway, of a Worker with headgate as its middleware, and of a Worker that only counts. */

import { type Answers, answersOf } from "./questions.ts";

/**
 * Older releases of wrangler know no later date, and npm may choose one: wrangler 4.86 knows dates up to 2026-05-03.
 */
const COMPATIBILITY_DATE = "2026-01-01";

type Files = Readonly<Record<string, string>>;

/** @param name of the Worker. @param spec of the package `headgate` in package.json. */
export function templateFiles(name: string, spec: string, answers = answersOf({})): Files {
  const { behind, store } = answers;
  if (behind === "framework") return countsFiles(name, spec);
  const isGateway = behind !== "worker";
  return {
    "package.json": isGateway ? packageJson(name, spec, GATEWAY_SCRIPTS) : packageJson(name, spec, SCRIPTS),
    "wrangler.toml": isGateway ? gatewayToml(name, answers) : workerToml(name),
    "src/index.ts": isGateway ? GATEWAY : appOf(answers),
    "README.md": readme(name, answers),
    ".gitignore": GITIGNORE,
    ...(store === "redis" && { ".dev.vars": DEV_VARS }),
  };
}

/** A Worker that holds the objects of an app whose framework writes the app's Worker. */
function countsFiles(name: string, spec: string): Files {
  return {
    "package.json": packageJson(name, spec, SCRIPTS),
    "wrangler.toml": `${head(name)}# Only the app calls it, by its binding.
workers_dev = false
preview_urls = false

${COUNTS}`,
    "src/index.ts": `export { HeadgateCounts } from "headgate/durable-object";

// Nobody sends it requests: the app calls the object.
export default { fetch: () => new Response(null, { status: 404 }) };
`,
    "README.md": `# ${name}

A Worker that holds the counts of an app. The app's own wrangler.toml or wrangler.jsonc binds them:

\`\`\`toml
${boundTo(name).toml}\`\`\`

\`\`\`json
${boundTo(name).json}\`\`\`

Deploy this Worker first, with \`npm install\` and \`npm run deploy\`. On your own machine, run \`npm run dev\` beside the app.
`,
    ".gitignore": GITIGNORE,
  };
}

/** What the app's own configuration needs, in both forms. @param script the name of the Worker with the objects. */
export function boundTo(script: string): { readonly toml: string; readonly json: string } {
  const binding = { name: "COUNTS", class_name: "HeadgateCounts", script_name: script };
  const lines = Object.entries(binding).map(([name, value]) => `${name} = "${value}"\n`);
  return {
    toml: `[[durable_objects.bindings]]\n${lines.join("")}`,
    json: `"durable_objects": { "bindings": [${JSON.stringify(binding)}] }\n`,
  };
}

const GITIGNORE = "node_modules/\n.wrangler/\n.dev.vars*\n.env*\n";
const GATEWAY = `export { default, HeadgateCounts, HeadgateStats, RateLimitService } from "headgate/worker";\n`;
const DEV_VARS = `# From the console of Upstash. While both are empty, the Durable Object counts.
UPSTASH_REDIS_REST_URL=""
UPSTASH_REDIS_REST_TOKEN=""
`;
const SCRIPTS = { dev: "wrangler dev", deploy: "wrangler deploy" };
const GATEWAY_SCRIPTS = {
  dev: "wrangler dev",
  check: "headgate check",
  headgate: "headgate",
  limits: "headgate limits",
  deploy: "headgate check --deployed --quiet && wrangler deploy",
};

function packageJson(name: string, spec: string, scripts: Files): string {
  const dependencies = { headgate: spec, hono: "^4.9.0" };
  const all = { name, private: true, type: "module", scripts, dependencies, devDependencies: { wrangler: "^4.0.0" } };
  return `${JSON.stringify(all, null, 2)}\n`;
}

const head = (name: string) => `name = "${name}"
main = "src/index.ts"
compatibility_date = "${COMPATIBILITY_DATE}"
`;

const REQUEST_SIGNAL = `# Tells the Worker when a client disconnects: its concurrency slots are free at once, and the origin hears of it.
compatibility_flags = ["enable_request_signal"]
`;

const COUNTS = `# The Durable Object that counts for all locations. It needs nothing but a Cloudflare account.
[[durable_objects.bindings]]
name = "COUNTS"
class_name = "HeadgateCounts"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["HeadgateCounts"]
`;

function workerToml(name: string): string {
  return `${head(name)}${REQUEST_SIGNAL}
[observability]
enabled = true

${COUNTS}`;
}

function gatewayToml(name: string, { behind, key }: Answers): string {
  const origin = behind === "demo" ? '# ORIGIN_URL = "https://origin.example.com"' : `ORIGIN_URL = "${behind}"`;
  const policies = policiesFor(key).map(([policy, by, limit]) => {
    const limits = `limits = [{ limit = ${limit}, window = "1m" }]`;
    return `[[vars.POLICIES]]\nname = "${policy}"\nkey = ${by}\n${limits}\n`;
  });
  const identity = `# ${YOUR_ISSUER}\nIDENTITY = { jwks = ${JWKS}, issuer = ${ISS}, audience = ${AUD} }\n\n`;
  return `#:schema ./node_modules/headgate/docs/wrangler.schema.json
# Every binding and field: node_modules/headgate/docs/configuration.md. \`npm run check\` says what is wrong here.
${head(name)}${REQUEST_SIGNAL}# Keeps the upload and cold starts small.
minify = true

[observability]
enabled = true

${COUNTS}
# The Durable Object that adds up what all locations have counted: metrics and the console. It is called only if there is
# an ADMIN_TOKEN or Cloudflare Access, or an ALERT_URL, to which it sends warnings about clients.
[[durable_objects.bindings]]
name = "STATS"
class_name = "HeadgateStats"

[[migrations]]
tag = "v2"
new_sqlite_classes = ["HeadgateStats"]

# The files of the console, /.headgate/console, which needs an ADMIN_TOKEN. The Worker comes first: no request is
# answered by a file and passes the limits by.
[assets]
directory = "./node_modules/headgate/console/dist"
binding = "ASSETS"
run_worker_first = true
html_handling = "none"
not_found_handling = "none"

[vars]
# Whose live document is obeyed, if several deployments share a store. An environment does not inherit [vars]: give each
# a name of its own here, and a NAMESPACE if it shares the store.
DEPLOYMENT = "${name.slice(0, 24)}"

# Where allowed requests go. Without it a demo answers.
${origin}

${key === "jwt" ? identity : ""}# Every policy that matches a request applies.
${policies.join("\n")}`;
}

const YOUR_ISSUER = "Put your own issuer here. Requests without a valid token count by their address.";
const [JWKS, ISS, AUD] = ['"https://id.example.com/jwks.json"', '"https://id.example.com"', '"api"'];

const KEYS: Readonly<Record<string, string>> = {
  ip: '["ip"]',
  "api-key": '["header:x-api-key", "ip"]',
  jwt: '["jwt:sub", "ip"]',
};

/** The policies: name, key and limit. */
function policiesFor(key: string): readonly (readonly [name: string, key: string, limit: number])[] {
  const policy = ["default", KEYS[key]!, 60] as const;
  // Each key that somebody makes up has a limit of its own.
  return key === "api-key" ? [policy, ["address", KEYS.ip!, 600]] : [policy];
}

function appOf({ key }: Answers): string {
  const policies = policiesFor(key).map(([name, by, limit]) => {
    return `  { name: "${name}", key: ${by}, limits: [{ limit: ${limit}, window: "1m" }] },\n`;
  });
  const isJwt = key === "jwt";
  const identity = `// ${YOUR_ISSUER}\nconst identity = jwtIdentity({ jwks: ${JWKS}, issuer: ${ISS}, audience: ${AUD} });\n`;
  return `import { createLimiter, ${isJwt ? "jwtIdentity, " : ""}storeFromEnv } from "headgate";
import { rateLimit } from "headgate/hono";
import { Hono } from "hono";

export { HeadgateCounts } from "headgate/durable-object";

// Every policy that matches a request applies.
const policies = [
${policies.join("")}];
${isJwt ? identity : ""}
const app = new Hono();
app.use(rateLimit((env) => createLimiter({ policies, ${isJwt ? "identity, " : ""}store: storeFromEnv(env) })));
app.get("/", (c) => c.text("Hello!\\n"));

export default app;
`;
}

function readme(name: string, { behind, key, store }: Answers): string {
  const who = { ip: "address", "api-key": "API key, and 600 for each address", jwt: "signed-in user" }[key];
  const isGateway = behind !== "worker";
  const [what, where] = isGateway
    ? ["A headgate gateway", "The policies and the origin are in `wrangler.toml`."]
    : ["An app with headgate as its middleware", "The policies are in `src/index.ts`."];
  const checks = isGateway ? ", `npm run check` says what is wrong" : "";
  const signIn = `
To see the console, write \`ADMIN_TOKEN=<at least 32 characters>\` into \`.dev.vars\`, and sign in with it at
\`/.headgate/console\`.
`;
  const redis = `
Redis counts as soon as it has an address and a token: write both into \`.dev.vars\` for this machine, and for the
deployed Worker run \`npx wrangler secret put UPSTASH_REDIS_REST_URL\` and \`… UPSTASH_REDIS_REST_TOKEN\`. Until then the
Durable Object counts.
`;
  return `# ${name}

${what}: 60 requests per minute for each ${who}. ${where}

\`npm install\`, then \`npm run dev\` runs it here${checks}, and \`npm run deploy\` deploys it.
${isGateway ? signIn : ""}${store === "redis" ? redis : ""}`;
}
