// Policies for the limits page: five documented ones, some that must not be shown, and some with hostile texts.

/** Every name is new, so that no other test uses its keys in the shared Redis. */
export function fivePolicies() {
  const name = (prefix: string) => `${prefix}-${crypto.randomUUID().slice(-6)}`;
  return [
    {
      name: name("api"),
      match: { path: "/v1/*" },
      key: ["bearer", "ip"],
      cost: [{ method: "GET", path: "/v1/search", cost: 5 }],
      limits: [
        { algorithm: "token-bucket", limit: 1, window: "1s", burst: 10, scope: "region" },
        { limit: 600, window: "1m", buckets: 6 },
      ],
    },
    {
      name: name("login"),
      match: { method: "POST", path: "/login" },
      limits: [
        { limit: 5, window: "1m", buckets: 6, oldest: "whole" },
        { algorithm: "sliding-log", limit: 20, window: "1h" },
      ],
      onStoreFailure: "deny",
    },
    {
      name: name("upload"),
      match: { method: ["PUT", "POST"], path: "/files/:id", host: ["files.example.com", "127.0.0.1"] },
      key: ["header:x-user+ip"],
      limits: [{ algorithm: "leaky-bucket", limit: 10, window: "1m", burst: 3, maxDelay: "2s" }],
    },
    {
      name: name("export"),
      match: { path: "/export" },
      key: ["query:account"],
      limits: [{ algorithm: "concurrency", limit: 2 }],
      onStoreFailure: "allow",
    },
    {
      name: name("site"),
      limits: [{ algorithm: "fixed-window", limit: 10_000, window: "1d" }],
      consistency: "leased",
    },
  ];
}

export const SECRET_POLICIES = [
  { name: "unsaid", documented: false, limits: [{ limit: 123_457, window: "1d" }] },
  { name: "only-tried", mode: "shadow", limits: [{ limit: 123_458, window: "1d" }] },
];

export const TWO_REGIONS = { REGIONS: { colo: { FRA: "frankfurt" }, continent: { NA: "america" } } };

/** Texts that a configuration may hold and that a page must not run as HTML or script. */
export const HOSTILE_POLICIES = [
  `/<img src=x onerror=alert>`,
  `/</code></th><script>alert</script>`,
  `/"onmouseover="alert`,
  `/'\`|&lt;&amp;`,
  `/🚦/--></style></script>`,
].map((path, i) => ({
  name: `hostile-${i}`,
  match: { path, host: i === 1 ? ["*"] : ["127.0.0.1"] },
  key: [`query:<b id="injected">🚦|*_`, "header:x-`|*_"],
  cost: [{ path, cost: 2 }],
  limits: [{ limit: 1_000, window: "1h" }],
}));
