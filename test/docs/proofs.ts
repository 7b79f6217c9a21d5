// What proves each row of docs/threat-model.md: files of test/, without their endings, and in each the title of a test
// or of a row of its table.

type Proofs = Readonly<Record<string, readonly (readonly [file: string, title: string])[]>>;

/** By the first cell of the row. */
export const PROOFS: Proofs = {
  // A client that wants more than its limit
  "a method-override header, or two of them": [
    ["kernel/http/match", "counts beside the request's own"],
    ["kernel/http/match", "in such a field also chooses a cost"],
  ],
  "another spelling of a path: `//LOGIN`, `/%6cogin`": [
    ["kernel/http/match", "%s counts against %j"],
    ["kernel/http/match", "is the same when it is encoded"],
  ],
  "a path encoded twice, an encoded slash": [["gateway/bypass", "what is not counted as a path is not that path"]],
  "`X-Forwarded-Host`, `Forwarded`, `X-Original-URL` or `X-Rewrite-URL`": [["gateway/origin", "tells the origin the"]],
  "invented entries in `X-Forwarded-For`; `CF-Connecting-IP` on Node": [
    ["kernel/http/client-ip", "an entry of a field"],
    ["kernel/request/key", "is never taken from a client's %s"],
    ["kernel/request/key", "192.0.2.1, 192.0.2.2"],
  ],
  "the many addresses of one IPv6 connection": [["kernel/request/key", "%s is counted as %s"]],
  "a cookie or a query parameter twice": [["kernel/http/as-counted", "a query parameter"]],
  "a credential twice, or with a comma": [["kernel/http/as-counted", "a credential that was sent twice"]],
  "a new token for each request": [["kernel/config/warnings", "warns of a policy that a client can leave"]],
  "a forged, altered, expired or foreign token for a claim": [["features/identity/bad-tokens", "the next key counts"]],
  "a flood of such tokens": [
    ["features/identity/remembered", "pushes out no good one"],
    ["features/identity/key-set", "makes nobody ask more often"],
  ],
  "the same ID again and again ([`once`](configuration.md#charge-once))": [
    ["features/once/limiter", "gives a reservation beyond its repeats back"],
  ],
  "`HEAD`, or a WebSocket upgrade whose method isn't `GET`": [
    ["kernel/http/match", "GET stands for HEAD, but not the other way round"],
    ["kernel/http/match", "an upgrade"],
  ],
  "leaving before the decision": [["gateway/leases", "a client that resets in the middle of an ask is charged once"]],
  // A client that a field of the body names
  "the field twice, or in other capitals": [["features/body/http", "that nobody can tell counts in one partition of"]],
  "a body that isn't JSON, is too long, compressed or not UTF-8": [["features/body/http", "that nobody can tell"]],
  "a form that servers read in different ways, or JSON that calls itself a form": [
    ["features/body/http", "that nobody can tell counts in one partition of"],
    ["features/body/values", "a part that hides another"],
  ],
  "another spelling of the same name": [["features/fold/fold", "counts spellings as one"]],
  "a slow body": [["features/bodies", "ends with 408 after 10 s, and costs nothing"]],
  // A client of a language model
  "a broken, compressed or strange body": [
    ["features/meter/estimate", "is made of any JSON"],
    ["features/meter/estimate", "counts text as text"],
    ["features/meter/estimate", "takes the largest maximum that the format has"],
  ],
  "leaving after the model has started": [["features/meter/settled", "before the answer pays by its status"]],
  "sending what the provider rejects, and leaving at once, to use up a shared budget": [
    ["gateway/meter-failures", "before the status pays by it"],
  ],
  "leaving during a stream": [
    ["features/meter/settled", "in the middle, %s, pays what was streamed"],
    ["features/meter/settled", "after the first byte of an answer in JSON"],
    ["features/meter/combined", "charges 256 tokens at a time"],
  ],
  "many requests at once": [["features/meter/combined", "the slot is held until the answer has ended"]],
  "a huge `max_tokens`, so that others are refused": [["features/meter/settled", "is at most half of the limit"]],
  "many slow uploads, so that others wait": [["features/bodies", "take a quarter of the isolate"]],
  "an upload that announces much and stops": [["features/bodies", "without progress is ended at the origin"]],
  "parameters that leave the usage out of a response": [
    ["features/meter/settled", "asks for a whole answer"],
    ["gateway/meter-counts", "the provider is asked for a plain answer"],
  ],
  "several models in one body, of which an expensive one responds": [
    ["features/meter/units", "asked for %s and answered by %s"],
    ["features/meter/estimate", "takes the deployment of an Azure path"],
    ["features/meter/units", "of a very long name"],
  ],
  // A client of an MCP server
  "a body that can't be read, or that can be read in two ways": [
    ["features/rpc/calls", "is not JSON, and may be any call"],
    ["features/rpc/calls", "an escaped name"],
    ["features/rpc/calls", "may be any call"],
    ["features/bodies", "is refused without its body being read"],
  ],
  "headers that name a cheaper tool than the body": [
    ["features/rpc/headers", "a body that says another tool"],
    ["gateway/mcp-2026", "a header that says something else passes"],
  ],
  "many calls in one batch": [
    ["features/rpc/refusal", "says that it never passes"],
    ["features/rpc/refusal", "has the id null"],
  ],
  // A client that wants to do harm
  "many logins at once, or leaving before the status of a failed one ([`count`](configuration.md#failures-or-successes))":
    [
      ["features/count/count", "any story keeps to its model"],
      ["features/count/count", "the handler throws, or never answers"],
    ],
  "a flood of new clients, of long keys, or of logs with 10,000 entries": [
    ["kernel/limiter/flood", "keys in the memory store"],
    ["kernel/store/memory-bounds", "stays within its bound on the heap with the heaviest keys there can be"],
    ["kernel/limiter/flood", "clients with long keys in the hasher"],
  ],
  "filling the store with IDs": [["lua/commands", "none when denied or without an id"]],
  "filling Redis past `maxmemory`": [["lua/full", "does not grow under 20 takes"]],
  "filling a Redis that evicts keys": [
    ["kernel/store/redis-states", "is degraded while it evicts counts, although it does not say by which policy"],
  ],
  "making a cache store a refusal": [
    ["adapters/promises", "refuses with a problem that nobody may store"],
    ["adapters/hono", "is stored by nobody"],
  ],
  "loading Redis through `/.headgate/health`": [["worker/health", "asks Redis once for 100 requests at once"]],
  // Somebody who wants to be an admin
  "the admin API when it isn't configured": [["gateway/admin-gate", "without a token in the configuration there is"]],
  "finding out which calls, policies or metrics there are": [
    ["gateway/admin-gate", "every path and method gets the same 401"],
    ["worker/stats-calls", "without the token the same 401"],
  ],
  "guessing the admin's token, or that of takes": [
    ["gateway/admin-gate", "the sixth wrong token"],
    ["operate/take", "counts wrong ones with those of the admin API"],
  ],
  "locking the admin out with wrong tokens": [["gateway/admin-gate", "the right one passes"]],
  "changing limits or blocks with `TAKE_TOKEN`": [["operate/take", "opens to its own token"]],
  "a wrong token of Cloudflare Access": [["gateway/admin-gate", "Cloudflare Access lets people in"]],
  "a foreign page in an admin's browser": [["gateway/admin-session", "opens the whole admin API"]],
  "framing the console, running scripts in it, forging its session": [
    ["worker/console", "which nobody may frame"],
    ["gateway/admin-session", "a cookie that is forged"],
    ["worker/console", "only its own path leads to the files"],
  ],
  "damaging the live document in Redis": [["gateway/admin-document", "changes nothing, is in the log"]],
  "reaching a process that has just started, while blocked": [
    ["features/live/reader", "waits for the document, with one read, and decides its first"],
  ],
  // Somebody who reads responses, logs or Redis
  "clients' tokens, cookies and addresses": [
    ["gateway/secrets", "while all is well"],
    ["gateway/admin-document", "the raw key is nowhere"],
  ],
  "the token of Redis, `KEY_SECRET`": [["gateway/secrets", "when Redis"]],
  "another person's limits, through a page in their browser": [["adapters/hono", "no page that cors() rejected"]],
  "the addresses of Redis and your origin": [
    ["gateway/secrets", "when nobody is there"],
    ["worker/health", "names no policy"],
  ],
  "a secret in the wrong variable": [
    ["worker/misconfigured", "the log names what was found, but no secret"],
    ["worker/misconfigured", "shows no value"],
  ],
  "what a refusal's token says, or a way to forge one": [
    ["gateway/explain", "a refusal carries one"],
    ["operate/explain", "can be read for 10 minutes"],
    ["operate/take", "cannot be changed or made up"],
  ],
  // Your own mistakes
  "any mistake in the configuration": [
    ["kernel/config/fixtures", "any bindings are settings that work"],
    ["kernel/config/fixtures", "is refused with exactly the messages"],
    ["adapters/options", "refuses %o when it is made"],
  ],
  '`ORIGIN_URL = "route"` outside Cloudflare, where clients would choose the origin': [
    ["gateway/origin", "by route asks no host that a client chose"],
  ],
  "an origin that leads back to the gateway": [["gateway/loop", "its own address"]],
  "a policy that a client can evade at will": [["kernel/config/warnings", "a policy that a client can leave"]],
};

/** What the page leaves out, because nobody asks for it. It holds all the same. */
export const ALSO: Proofs = {
  "case, dots and ports in `Host`": [
    ["kernel/http/match", "host %s matches %s"],
    ["adapters/express", "what is matched"],
  ],
  "a token with spaces, a cookie with needless quotes or encoding": [["kernel/http/as-counted", "a bearer ends where"]],
  "braces, NUL or line ends in a key": [
    ["kernel/request/hash", "that only cut the same text"],
    ["gateway/service", "writes under no region that is no name"],
  ],
  "deep nesting, or thousands of names": [["features/rpc/calls", "in linear time"]],
  "settling a reservation twice, or one that is made up or older than 10 minutes": [
    ["operate/take", "cannot be changed or made up"],
  ],
  "a key in a header that `Connection` hides from your origin": [
    ["gateway/bypass", "a field that the client's Connection names"],
    ["gateway/bypass", "naming it in Connection"],
  ],
  "OPTIONS instead of GET": [["adapters/promises", "counts preflights apart"]],
  "making another client's wait longer": [["kernel/place/refusals", "whoever waits as it was told"]],
  "requests leased before a reset": [["features/leases/late-leases", "isolate's reset never gets into the stock"]],
  "`__proto__`, `constructor` or `length` as the name of a field": [["features/body/values", "what objects inherit"]],
  "a path that makes patterns slow": [["kernel/request/pattern", "is at most the length of the path times that of"]],
  "very long hosts": [["kernel/http/match", "a host of dots is read at once"]],
  "an object instead of a key, by RPC": [["gateway/service", "refuses keys that are no text"]],
  "broken requests": [["gateway/hostile-input", "every head gets one answer"]],
  "any other method, path or headers": [["worker/fuzz", "of any method, path and headers"]],
  "a forged `Headgate-Via`": [["gateway/loop", "a mark of a client's own choice"]],
  "endless calls in the background": [["kernel/place/subrequests", "are bounded under leased"]],
  "a stream that outlives its slot": [["features/slots/keep-slots", "are renewed 1,000 times at most"]],
  "using up a request's calls, so that Redis looks down": [
    ["kernel/store/redis-failures", "was not charged, and the store is well"],
  ],
  "refused clients that fill the metrics": [["operate/stats/tally", "names the bounds of the true count"]],
  "more and more series in the metrics": [["operate/stats/tally", "counts 400 regions by name and the others as"]],
};
