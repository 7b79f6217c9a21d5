// What proves each row of docs/threat-model.md: files, and in each the title of a test or of a row of its table.

type Proofs = Readonly<Record<string, readonly (readonly [file: string, title: string])[]>>;

/** By the first cell of the row. */
export const PROOFS: Proofs = {
  // A client that wants more than its limit
  "a method-override header, or two of them": [
    ["test/gateway/bypass.test.ts", "an override of the method"],
    ["test/kernel/http/match.test.ts", "in such a field also chooses a cost"],
  ],
  "another spelling of a path: `//LOGIN`, `/%6cogin`": [
    ["test/gateway/bypass.test.ts", "another spelling of the path"],
    ["test/kernel/http/match.test.ts", "is the same when it is encoded"],
  ],
  "a path encoded twice, an encoded slash": [
    ["test/gateway/bypass.test.ts", "what is not counted as a path is not that path"],
  ],
  "case, dots and ports in `Host`": [
    ["test/gateway/bypass.test.ts", "another spelling of the host"],
    ["test/adapters/express.test.ts", "what is matched"],
  ],
  "`X-Forwarded-Host`, `Forwarded`, `X-Original-URL` or `X-Rewrite-URL`": [
    ["test/gateway/origin.test.ts", "tells the origin the host that was matched"],
  ],
  "invented entries in `X-Forwarded-For`; `CF-Connecting-IP` on Node": [
    ["test/kernel/http/client-ip.test.ts", "an entry of a field"],
    ["test/kernel/request/key.test.ts", "is never taken from a client's %s"],
    ["test/kernel/request/key.test.ts", "192.0.2.1, 192.0.2.2"],
  ],
  "the many addresses of one IPv6 connection": [["test/kernel/request/key.test.ts", "%s is counted as %s"]],
  "a token with spaces, a cookie with needless quotes or encoding": [
    ["test/kernel/http/as-counted.test.ts", "a bearer ends where its characters end"],
  ],
  "a cookie or a query parameter twice": [["test/kernel/http/as-counted.test.ts", "a query parameter"]],
  "a credential twice, or with a comma": [["test/gateway/bypass.test.ts", "the origin gets what was counted"]],
  "a new token for each request": [["test/gateway/bypass.test.ts", "another token, where addresses are counted too"]],
  "a forged, altered, expired or foreign token for a claim": [
    ["test/features/identity/bad-tokens.test.ts", "the next key counts"],
  ],
  "a flood of such tokens": [
    ["test/features/identity/remembered.test.ts", "pushes out no good one"],
    ["test/features/identity/key-set.test.ts", "makes nobody ask more often"],
  ],
  "the same ID again and again ([`once`](configuration.md#charge-once))": [
    ["test/features/once/limiter.test.ts", "gives a reservation beyond its repeats back"],
  ],
  "`HEAD`, or a WebSocket upgrade whose method isn't `GET`": [
    ["test/kernel/http/match.test.ts", "GET stands for HEAD, but not the other way round"],
    ["test/kernel/http/match.test.ts", "an upgrade"],
  ],
  "leaving before the decision": [["test/gateway/durable-object.test.ts", "counts a request whose client goes away"]],
  // A client that a field of the body names
  "the field twice, or in other capitals": [
    ["test/features/body/http.test.ts", "that nobody can tell counts in one partition of the policy"],
  ],
  "a body that isn't JSON, is too long, compressed or not UTF-8": [
    ["test/features/body/http.test.ts", "that nobody can tell counts in one partition of the policy"],
  ],
  "a form that servers read in different ways, or JSON that calls itself a form": [
    ["test/gateway/body.test.ts", "whatever nobody can read is limited together"],
    ["test/features/body/values.test.ts", "a part that hides another"],
  ],
  "another spelling of the same name": [["test/features/fold/fold.test.ts", "counts spellings as one"]],
  "a slow body": [["test/features/bodies.test.ts", "ends with 408 after 10 s, and costs nothing"]],
  // A client of a language model
  "a broken, compressed or strange body": [
    ["test/features/meter/estimate.test.ts", "is made of any JSON"],
    ["test/features/meter/estimate.test.ts", "counts text as text"],
    ["test/features/meter/estimate.test.ts", "takes the largest maximum that the format has"],
  ],
  "leaving after the model has started": [
    ["test/features/meter/settled.test.ts", "before the answer pays by its status"],
  ],
  "sending what the provider rejects, and leaving at once, to use up a shared budget": [
    ["test/gateway/meter-failures.test.ts", "before the status pays by it"],
  ],
  "leaving during a stream": [
    ["test/features/meter/settled.test.ts", "in the middle, %s, pays what was streamed"],
    ["test/features/meter/settled.test.ts", "after the first byte of an answer in JSON"],
    ["test/features/meter/combined.test.ts", "charges 256 tokens at a time"],
  ],
  "many requests at once": [["test/features/meter/combined.test.ts", "the slot is held until the answer has ended"]],
  "a huge `max_tokens`, so that others are refused": [
    ["test/features/meter/settled.test.ts", "is at most half of the limit"],
  ],
  "many slow uploads, so that others wait": [["test/features/bodies.test.ts", "take a quarter of the isolate"]],
  "an upload that announces much and stops": [
    ["test/features/bodies.test.ts", "without progress is ended at the origin"],
  ],
  "parameters that leave the usage out of a response": [
    ["test/features/meter/settled.test.ts", "asks for a whole answer"],
    ["test/gateway/meter-counts.test.ts", "the provider is asked for a plain answer"],
  ],
  "several models in one body, of which an expensive one responds": [
    ["test/features/meter/units.test.ts", "asked for %s and answered by %s"],
    ["test/features/meter/estimate.test.ts", "takes the deployment of an Azure path"],
    ["test/features/meter/units.test.ts", "of a very long name"],
  ],
  // A client of an MCP server
  "a body that can't be read, or that can be read in two ways": [
    ["test/features/rpc/calls.test.ts", "is not JSON, and may be any call"],
    ["test/features/rpc/calls.test.ts", "an escaped name"],
    ["test/features/rpc/calls.test.ts", "may be any call"],
    ["test/features/bodies.test.ts", "is refused without its body being read"],
  ],
  "many calls in one batch": [
    ["test/features/rpc/refusal.test.ts", "says that it never passes"],
    ["test/features/rpc/refusal.test.ts", "has the id null"],
  ],
  "deep nesting, or thousands of names": [["test/features/rpc/calls.test.ts", "in linear time"]],
  // A client that wants to do harm
  "many logins at once, or leaving before the status of a failed one ([`count`](configuration.md#failures-or-successes))":
    [
      ["test/features/count/count.test.ts", "as many are in flight as the limit has units"],
      ["test/gateway/count.test.ts", "the client leaves an origin that hangs"],
    ],
  "a flood of new clients, of long keys, or of logs with 10,000 entries": [
    ["test/kernel/limiter/flood.long.test.ts", "keys in the memory store"],
    [
      "test/kernel/store/memory-bounds.long.test.ts",
      "stays within its bound on the heap with the heaviest keys there can be",
    ],
    ["test/kernel/limiter/flood.long.test.ts", "clients with long keys in the hasher"],
  ],
  "filling the store with IDs": [["test/lua/commands.test.ts", "none when denied or without an id"]],
  "filling Redis past `maxmemory`": [["test/lua/full.test.ts", "does not grow under 20 takes"]],
  "filling a Redis that evicts keys": [
    [
      "test/kernel/store/redis-states.test.ts",
      "is degraded while it evicts counts, although it does not say by which policy",
    ],
  ],
  "braces, NUL or line ends in a key": [
    ["test/kernel/request/hash.test.ts", "that only cut the same text"],
    ["test/gateway/service.test.ts", "writes under no region that is no name"],
  ],
  "making a cache store a refusal": [
    ["test/gateway/bypass.test.ts", "no answer of the gateway's own may be stored"],
    ["test/adapters/hono.test.ts", "is stored by nobody"],
  ],
  "a key in a header that `Connection` hides from your origin": [
    ["test/gateway/bypass.test.ts", "a field that the client's Connection names"],
    ["test/gateway/bypass.test.ts", "naming it in Connection"],
  ],
  "loading Redis through `/.headgate/health`": [
    ["test/worker/health.test.ts", "asks Redis once for 100 requests at once"],
  ],
  // Somebody who wants to be an admin
  "the admin API when it isn't configured": [
    ["test/gateway/admin-gate.test.ts", "without a token in the configuration there is nothing"],
  ],
  "finding out which calls, policies or metrics there are": [
    ["test/gateway/admin-gate.test.ts", "every path and method gets the same 401"],
    ["test/worker/stats-calls.test.ts", "without the token the same 401"],
  ],
  "guessing the admin's token, or that of takes": [
    ["test/gateway/admin-gate.test.ts", "the sixth wrong token"],
    ["test/operate/take.test.ts", "counts wrong ones with those of the admin API"],
  ],
  "locking the admin out with wrong tokens": [["test/gateway/admin-gate.test.ts", "the right one passes"]],
  "changing limits or blocks with `TAKE_TOKEN`": [["test/operate/take.test.ts", "opens to its own token"]],
  "settling a reservation twice, or one that is made up or older than 10 minutes": [
    ["test/operate/take.test.ts", "cannot be changed or made up"],
  ],
  "a wrong token of Cloudflare Access": [["test/gateway/admin-gate.test.ts", "Cloudflare Access lets people in"]],
  "a foreign page in an admin's browser": [
    ["test/gateway/admin-gate.test.ts", "must come from the same origin"],
    ["test/gateway/admin-session.test.ts", "opens the whole admin API"],
  ],
  "framing the console, running scripts in it, forging its session": [
    ["test/worker/console.test.ts", "which nobody may frame"],
    ["test/gateway/admin-session.test.ts", "a cookie that is forged"],
    ["test/worker/console.test.ts", "only its own path leads to the files"],
  ],
  "damaging the live document in Redis": [
    ["test/gateway/admin-document.long.test.ts", "changes nothing, is in the log"],
  ],
  "reaching a process that has just started, while blocked": [
    ["test/gateway/admin-spread.long.test.ts", "in a cold one at once"],
  ],
  // Somebody who reads responses, logs or Redis
  "clients' tokens, cookies and addresses": [
    ["test/gateway/secrets.test.ts", "while all is well"],
    ["test/gateway/admin-document.long.test.ts", "the raw key is nowhere"],
  ],
  "the token of Redis, `KEY_SECRET`": [["test/gateway/secrets.test.ts", "when Redis"]],
  "another person's limits, through a page in their browser": [
    ["test/adapters/hono.test.ts", "no page that cors() rejected"],
  ],
  "the addresses of Redis and your origin": [
    ["test/gateway/secrets.test.ts", "when nobody is there"],
    ["test/worker/health.test.ts", "names no policy"],
  ],
  "a secret in the wrong variable": [
    ["test/gateway/secrets.test.ts", "when a secret is in the wrong place"],
    ["test/worker/misconfigured.test.ts", "shows no value"],
  ],
  "what a refusal's token says, or a way to forge one": [
    ["test/gateway/explain.test.ts", "a refusal carries one"],
    ["test/gateway/explain.test.ts", "one that was altered"],
  ],
  // Your own mistakes
  "any mistake in the configuration": [
    ["test/kernel/config/fuzz.test.ts", "any bindings are settings that work"],
    ["test/kernel/config/fixtures.test.ts", "is refused with exactly the messages"],
    ["test/adapters/options.test.ts", "refuses %o when it is made"],
  ],
  '`ORIGIN_URL = "route"` outside Cloudflare, where clients would choose the origin': [
    ["test/gateway/origin-kinds.test.ts", "by route asks no host that a client chose"],
  ],
  "an origin that leads back to the gateway": [["test/gateway/loop.test.ts", "its own address"]],
  "a policy that a client can evade at will": [
    ["test/kernel/config/warnings.test.ts", "a policy that a client can leave"],
  ],
};

/** What the page leaves out, because nobody asks for it. It holds all the same. */
export const ALSO: Proofs = {
  "OPTIONS instead of GET": [["test/adapters/promises.ts", "counts preflights apart"]],
  "making another client's wait longer": [["test/kernel/place/refusals.test.ts", "whoever waits as it was told"]],
  "requests leased before a reset": [["test/features/leases/take-leased.test.ts", "is not given back after a reset"]],
  "`__proto__`, `constructor` or `length` as the name of a field": [
    ["test/features/body/values.test.ts", "what objects inherit"],
  ],
  "a path that makes patterns slow": [
    ["test/kernel/request/pattern.test.ts", "is at most the length of the path times that of the pattern"],
  ],
  "very long hosts": [["test/kernel/http/match.test.ts", "of 64 KiB is matched"]],
  "an object instead of a key, by RPC": [["test/gateway/service.test.ts", "refuses keys that are no text"]],
  "broken requests": [["test/gateway/hostile-input.test.ts", "every head gets one answer"]],
  "any other method, path or headers": [["test/worker/fuzz.test.ts", "of any method, path and headers"]],
  "a forged `Headgate-Via`": [["test/gateway/loop.test.ts", "a mark of a client's own choice"]],
  "endless calls in the background": [["test/kernel/place/subrequests.test.ts", "are bounded under leased"]],
  "a stream that outlives its slot": [["test/features/slots/keep-slots.test.ts", "are renewed 1,000 times at most"]],
  "using up a request's calls, so that Redis looks down": [
    ["test/kernel/store/redis-failures.test.ts", "keeps no other request from asking"],
  ],
  "refused clients that fill the metrics": [
    ["test/operate/stats/top-clients.test.ts", "keeps 64 of a million clients"],
  ],
  "more and more series in the metrics": [
    ["test/operate/stats/minutes.test.ts", "counts 400 regions by name and the others as other"],
  ],
};
