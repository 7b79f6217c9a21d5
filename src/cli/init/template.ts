/** The files of a new gateway. */

/**
 * Older releases of wrangler know no later date, and npm may choose one: wrangler 4.86 knows dates up to 2026-05-03.
 */
const COMPATIBILITY_DATE = "2026-01-01";

/** @param name of the Worker. @param spec of the package `headgate` in package.json. */
export function templateFiles(name: string, spec: string): Readonly<Record<string, string>> {
  const packageJson = {
    name,
    private: true,
    type: "module",
    scripts: {
      dev: "wrangler dev",
      check: "headgate check",
      headgate: "headgate",
      limits: "headgate limits",
      deploy: "headgate check --deployed --quiet && wrangler deploy",
    },
    dependencies: { headgate: spec, hono: "^4.9.0" },
    devDependencies: { wrangler: "^4.0.0" },
  };
  return {
    "package.json": `${JSON.stringify(packageJson, null, 2)}\n`,
    "wrangler.toml": wranglerToml(name),
    "src/index.ts": `export { default, HeadgateCounts, HeadgateStats, RateLimitService } from "headgate/worker";\n`,
    "README.md": readme(name),
    ".gitignore": "node_modules/\n.wrangler/\n.dev.vars*\n.env*\n",
  };
}

function wranglerToml(name: string): string {
  return `#:schema ./node_modules/headgate/docs/wrangler.schema.json
# Every binding and field: node_modules/headgate/docs/configuration.md. \`npm run check\` says what is wrong here.
name = "${name}"
main = "src/index.ts"
compatibility_date = "${COMPATIBILITY_DATE}"
# Tells the Worker when a client disconnects: its concurrency slots are free at once, and the origin hears of it.
compatibility_flags = ["enable_request_signal"]
# Keeps the upload and cold starts small.
minify = true

[observability]
enabled = true

# The Durable Object that counts for all locations. It needs nothing but a Cloudflare account.
[[durable_objects.bindings]]
name = "COUNTS"
class_name = "HeadgateCounts"

# The Durable Object that adds up what all locations have counted: metrics and the console. It is called only if there is
# an ADMIN_TOKEN or Cloudflare Access, or an ALERT_URL, to which it sends warnings about clients.
[[durable_objects.bindings]]
name = "STATS"
class_name = "HeadgateStats"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["HeadgateCounts"]

[[migrations]]
tag = "v2"
new_sqlite_classes = ["HeadgateStats"]

# The files of the console, /.headgate/console. The Worker comes first: no request is answered by a file and passes the
# limits by.
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
# ORIGIN_URL = "https://origin.example.com"

# Every policy that matches a request applies.
[[vars.POLICIES]]
name = "default"
key = ["ip"]
limits = [{ limit = 60, window = "1m" }]
`;
}

function readme(name: string): string {
  return `# ${name}

A headgate gateway: 60 requests per minute and address. The policies and the origin are in \`wrangler.toml\`.

\`npm install\`, then \`npm run dev\` runs it here, \`npm run check\` says what is wrong, and \`npm run deploy\` deploys it.
`;
}
