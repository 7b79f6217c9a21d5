/** The parts of the site, in the order of a newcomer. Paths are those of the files. */

import type { DefaultTheme } from "vitepress";
import { urlOf } from "./urls.ts";

const page = (text: string, path: string) => ({ text, link: urlOf(path) });

export const SIDEBAR: DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [
      page("What it is", "README.md"),
      page("A 429 within a minute", "docs/start/first-429.md"),
      page("Choose a store", "docs/start/store.md"),
      page("Choose a consistency", "docs/start/consistency.md"),
      page("Choose an algorithm", "docs/start/algorithm.md"),
      page("Playground", "site/playground.md"),
    ],
  },
  {
    text: "Guides",
    items: [
      page("Deploy to Cloudflare", "docs/deploy.md"),
      page("Upgrade", "docs/upgrading.md"),
      page("Run it elsewhere", "docs/runtimes.md"),
      page("Use Redis", "docs/redis.md"),
      page("Use Redis over TCP", "docs/tcp.md"),
      page("Find the numbers: replay", "docs/replay.md"),
      page("Record decisions", "docs/recording.md"),
      page("Change limits while it runs", "docs/live.md"),
      page("Metrics, logs, console", "docs/observability.md"),
      page("Tell clients their limits", "docs/limits-page.md"),
      page("Call a limited API", "docs/client.md"),
      page("Count tokens and dollars", "docs/llm.md"),
      page("Examples", "examples/README.md"),
    ],
  },
  {
    text: "Recipes",
    items: [page("All recipes", "docs/recipes/README.md"), page("Limit by API key", "docs/recipes/api-key.md")],
  },
  {
    text: "Move here",
    items: [
      page("From express-rate-limit", "docs/migrate/express-rate-limit.md"),
      page("From hono-rate-limiter", "docs/migrate/hono-rate-limiter.md"),
      page("From rate-limiter-flexible", "docs/migrate/rate-limiter-flexible.md"),
      page("From @upstash/ratelimit", "docs/migrate/upstash-ratelimit.md"),
    ],
  },
  {
    text: "Reference",
    items: [
      page("Configuration", "docs/configuration.md"),
      page("Which requests match", "docs/matching.md"),
      page("Library", "docs/library.md"),
      page("Stores", "docs/stores.md"),
      page("Algorithms", "docs/algorithms.md"),
      page("API", "docs/api.md"),
      page("Command line", "docs/cli.md"),
      page("Errors", "docs/errors.md"),
      page("Limits and constraints", "docs/limits.md"),
      page("Glossary", "docs/glossary.md"),
      page("Changelog", "CHANGELOG.md"),
      page("Stability", "STABILITY.md"),
    ],
  },
  {
    text: "How it works",
    items: [
      page("One request, file by file", "docs/architecture.md"),
      page("Consistency", "docs/consistency.md"),
      page("When Redis cannot answer", "docs/failure-modes.md"),
      page("What is verified", "docs/verification.md"),
      page("Threat model", "docs/threat-model.md"),
      page("Benchmarks", "docs/benchmarks.md"),
      page("Scale", "docs/scale.md"),
      page("Compared with others", "docs/comparison.md"),
      page("What is in Redis", "docs/storage-schema.md"),
    ],
  },
];
