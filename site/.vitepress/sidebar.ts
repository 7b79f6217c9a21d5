/** The four parts of the site, in the order of a newcomer. Paths are those of the files. */

import type { DefaultTheme } from "vitepress";
import { urlOf } from "./urls.ts";

const page = (text: string, path: string) => ({ text, link: urlOf(path) });

/** On every page, above the text: the only way from the front page on, which has no sidebar. */
export const NAV: DefaultTheme.NavItem[] = [
  page("Start", "docs/start/first-429.md"),
  page("Recipes", "docs/recipes/README.md"),
  page("Configuration", "docs/configuration.md"),
  page("Playground", "site/playground.md"),
];

export const SIDEBAR: DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [
      page("What it is", "README.md"),
      page("Get your first 429", "docs/start/first-429.md"),
      page("Choose an algorithm", "docs/start/algorithm.md"),
      page("Choose a consistency mode", "docs/start/consistency.md"),
      page("Playground", "site/playground.md"),
      page("Deploy and upgrade", "docs/deploy.md"),
    ],
  },
  {
    text: "Recipes",
    items: [
      page("All recipes", "docs/recipes/README.md"),
      {
        text: "Who is limited",
        items: [
          page("Rate limit by IP address, per route", "docs/recipes/ip.md"),
          page("Limit by API key", "docs/recipes/api-key.md"),
          page("Limit by user (JWT)", "docs/recipes/user.md"),
          page("Plans", "docs/recipes/plans.md"),
          page("Failed logins", "docs/recipes/logins.md"),
          page("Ban clients", "docs/recipes/ban.md"),
          page("A field of the body", "docs/recipes/body.md"),
          page("Exempt addresses (allowlist), health checks", "docs/recipes/exempt.md"),
          page("Custom 429", "docs/recipes/custom-429.md"),
        ],
      },
      {
        text: "What is limited",
        items: [
          page("GraphQL by cost", "docs/recipes/graphql.md"),
          page("A cost that the server states", "docs/recipes/cost-of-answers.md"),
          page("Uploads at the same time", "docs/recipes/uploads.md"),
          page("Open connections", "docs/recipes/connections.md"),
          page("WebSocket messages", "docs/recipes/websocket.md"),
          page("Webhook receiver", "docs/recipes/webhooks.md"),
          page("Tokens per minute for models", "docs/recipes/llm-tokens.md"),
          page("Dollars per month for models", "docs/recipes/llm-budget.md"),
          page("Budget of an agent's run", "docs/recipes/agent-budget.md"),
          page("Tools of an MCP server", "docs/recipes/mcp-tools.md"),
          page("Call a limited API", "docs/recipes/call-a-limited-api.md"),
        ],
      },
      {
        text: "Your framework",
        items: [
          page("Hono", "docs/recipes/hono.md"),
          page("Express", "docs/recipes/express.md"),
          page("Fastify", "docs/recipes/fastify.md"),
          page("Koa", "docs/recipes/koa.md"),
          page("NestJS", "docs/recipes/nestjs.md"),
          page("Next.js", "docs/recipes/next.md"),
          page("SvelteKit, Astro, Nuxt, Remix", "docs/recipes/workers-frameworks.md"),
          page("tRPC", "docs/recipes/trpc.md"),
          page("Other languages", "docs/recipes/other-languages.md"),
        ],
      },
      {
        text: "Change and move",
        items: [
          page("Try a limit in shadow", "docs/recipes/roll-out.md"),
          page("Warning before the limit", "docs/recipes/warnings.md"),
          page("Write decisions to Analytics Engine", "docs/recipes/analytics-engine.md"),
          page("Test your limits (Vitest or Jest)", "docs/recipes/test-your-limits.md"),
          page("From express-rate-limit", "docs/migrate/express-rate-limit.md"),
          page("From hono-rate-limiter", "docs/migrate/hono-rate-limiter.md"),
          page("From rate-limiter-flexible", "docs/migrate/rate-limiter-flexible.md"),
          page("From @upstash/ratelimit", "docs/migrate/upstash-ratelimit.md"),
          page("Every option of others", "docs/migrate/options.md"),
          page("Changes", "CHANGELOG.md"),
          page("What may change, and when", "STABILITY.md"),
        ],
      },
      page("Whole examples", "examples/README.md"),
    ],
  },
  {
    text: "Reference",
    items: [
      page("Configuration", "docs/configuration.md"),
      page("Library", "docs/library.md"),
      {
        ...page("API", "docs/api.md"),
        collapsed: true,
        items: [
          page("headgate/hono", "docs/api/hono.md"),
          page("headgate/express", "docs/api/express.md"),
          page("headgate/durable-object", "docs/api/durable-object.md"),
          page("headgate/client", "docs/api/client.md"),
          page("headgate/testing", "docs/api/testing.md"),
          page("headgate/llm", "docs/api/llm.md"),
          page("headgate/worker", "docs/api/worker.md"),
        ],
      },
      page("Command line", "docs/cli.md"),
      page("Errors", "docs/errors.md"),
      page("Metrics and log lines", "docs/metrics.md"),
      page("Algorithms", "docs/algorithms.md"),
      page("Stores", "docs/stores.md"),
      page("Runtimes and frameworks", "docs/runtimes.md"),
      page("Operate", "docs/operate.md"),
      page("What your clients get", "docs/clients.md"),
      page("Tokens and dollars", "docs/llm.md"),
      page("MCP servers", "docs/mcp.md"),
      page("Replay", "docs/replay.md"),
      page("Glossary", "docs/glossary.md"),
    ],
  },
  {
    text: "How it works",
    items: [
      page("One request, file by file", "docs/architecture.md"),
      page("Consistency", "docs/consistency.md"),
      page("When the store can't answer", "docs/failure-modes.md"),
      page("What is verified", "docs/verification.md"),
      page("Threat model", "docs/threat-model.md"),
      page("Performance", "docs/performance.md"),
      page("Compared with others", "docs/comparison.md"),
      page("What is stored", "docs/storage-schema.md"),
      page("Decisions", "docs/decisions/README.md"),
    ],
  },
];
