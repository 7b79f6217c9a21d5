// What people type into the search of the site, and the page that answers it. A row may stand here before its page does.

/** By the Markdown file. */
export const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  "docs/recipes/api-key.md": ["different rate limit per api key", "rate limit per customer api key"],
  "docs/recipes/user.md": ["limit each logged in user", "rate limit per user id from jwt"],
  "docs/recipes/plans.md": ["paid customers get more requests", "free and premium tier limits"],
  "docs/recipes/logins.md": ["stop brute force password guessing", "too many login attempts"],
  "docs/recipes/exempt.md": ["whitelist ip address", "do not count health check of load balancer"],
  "docs/recipes/graphql.md": ["graphql query complexity", "graphql rate limiting"],
  "docs/recipes/uploads.md": ["max simultaneous file uploads", "concurrent uploads per user"],
  "docs/recipes/websocket.md": ["throttle chat messages on a websocket", "websocket rate limit"],
  "docs/recipes/webhooks.md": ["receive webhooks with retries", "github webhook rate limit"],
  "docs/recipes/trpc.md": ["trpc rate limit middleware"],
  "docs/recipes/next.md": ["next.js middleware rate limit"],
  "docs/recipes/express.md": ["rate limit my express server"],
  "docs/recipes/hono.md": ["hono rate limit one route", "hono middleware"],
  "docs/recipes/llm-tokens.md": ["openai tokens per minute"],
  "docs/recipes/llm-budget.md": ["monthly openai budget", "cheaper model when the budget is used up"],
  "docs/recipes/mcp-tools.md": ["mcp server tool calls limit"],
  "docs/recipes/call-a-limited-api.md": ["stay below the limit of somebody else's api"],
  "docs/recipes/roll-out.md": ["try a limit without refusing anybody", "roll out shadow"],
  "docs/recipes/test-your-limits.md": ["unit test with fake timers"],
  "docs/migrate/express-rate-limit.md": ["replace express-rate-limit"],
  "docs/migrate/hono-rate-limiter.md": ["move from hono-rate-limiter"],
  "docs/migrate/rate-limiter-flexible.md": ["migrate from rate-limiter-flexible"],
  "docs/migrate/upstash-ratelimit.md": ["switch from upstash ratelimit"],
  "docs/upgrading.md": ["upgrade to a new version", "breaking changes"],
};
