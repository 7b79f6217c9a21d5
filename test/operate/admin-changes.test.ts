// Changes of the live document over the admin API, in this process: two operators at once, instants and durations, a
// new key secret, documents at their bound.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { type LiveDocument, MAX_LIVE_BYTES } from "../../src/features/live/document.ts";
import { createLiveReader } from "../../src/features/live/reader.ts";
import { createGateway } from "../../src/gateway.ts";
import { memoryLive } from "../../src/kernel/store/live.ts";
import {
  createLiveEditor,
  type LiveEditor,
  removeOverride,
  setOverride,
} from "../../src/operate/admin/edit-document.ts";
import { changesIn } from "../../src/operate/admin/made-changes.ts";
import { ANN, BOB, OWN_SECRET, POLICIES } from "../features/live/policies.ts";

const NOW_MS = Date.parse("2026-11-22T12:00:00.250Z");
const TOKEN = "a-token-of-32-characters-at-least";
const [CLIENT, OTHER] = ["203.0.113.7", "203.0.113.8"];

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] });
  for (const level of ["log", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});

interface Call {
  readonly key?: string;
  readonly body?: unknown;
  readonly ifMatch?: string | null;
}

const BINDINGS = {
  POLICIES: [{ name: "api", key: ["ip"], limits: [{ limit: 10, window: "1h" }] }],
  ADMIN_TOKEN: TOKEN,
  KEY_SECRET: "a-secret-of-these-tests",
};

/** The admin API of a gateway in memory. */
function adminOf() {
  const gateway = createGateway({ ...BINDINGS, LIVE_REFRESH: "30s" });
  const context = { waitUntil() {}, passThroughOnException() {} };
  return async (method: string, path: string, { key, body, ifMatch }: Call = {}) => {
    const headers = new Headers({ Authorization: `Bearer ${TOKEN}` });
    if (key) headers.set("Headgate-Key", key);
    if (ifMatch) headers.set("If-Match", ifMatch);
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const request = new Request(`https://gate.example/.headgate/admin${path}`, init);
    const answer = await gateway.fetch(request, {}, context as never);
    // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asks for.
    return { status: answer.status, etag: answer.headers.get("ETag"), body: (await answer.json()) as any };
  };
}

describe("two operators", () => {
  it.each<[path: string, key?: string]>([["/counts/api", CLIENT], ["/overrides"], ["/policies"], ["/live"]])(
    "GET %s carries the ETag and the version of the live document",
    async (path, key) => {
      const admin = adminOf();
      for (const version of [0, 1]) {
        const { etag, body } = await admin("GET", path, key ? { key } : {});
        expect([etag, body.version]).toEqual([`"${version}"`, version]);
        await admin("PUT", "/overrides/api", { key: OTHER, body: { block: true } });
      }
    },
  );

  it.each([
    ["PUT", "/overrides/api", { factor: 2 }, { override: { block: true, note: "a bot" } }],
    ["DELETE", "/overrides/api", undefined, { override: { block: true, note: "a bot" } }],
    ["PATCH", "/policies/api", { mode: "enforce" }, { policy: { limits: { api: 5 } } }],
  ] as const)("%s %s is sent with the ETag that was read: 412 shows the new state", async (method, path, body, now) => {
    const admin = adminOf();
    const { etag } = await admin("GET", "/counts/api", { key: CLIENT });
    await admin("PUT", "/overrides/api", { key: CLIENT, body: { block: true, note: "a bot" } });
    await admin("PATCH", "/policies/api", { body: { limits: { api: 5 } } });
    const late = await admin(method, path, { key: CLIENT, ifMatch: etag, body });
    expect(late).toMatchObject({ status: 412, etag: '"2"', body: { version: 2, ...now } });
    const again = await admin(method, path, { key: CLIENT, ifMatch: late.etag, body });
    expect(again).toMatchObject({ status: 200, etag: '"3"' });
  });
});

describe("until", () => {
  const put = (admin: ReturnType<typeof adminOf>, until: unknown) =>
    admin("PUT", "/overrides/api", { key: CLIENT, body: { factor: 2, until } });

  it.each(["2026-11-22T12:00:00Z", "2020-01-01T00:00:00Z", "0s", "0", "999999999999d", "soon", 5])(
    "%j is refused, and replaces no block",
    async (until) => {
      const admin = adminOf();
      await admin("PUT", "/overrides/api", { key: CLIENT, body: { block: true } });
      const refused = await put(admin, until);
      expect(refused).toMatchObject({ status: 422, body: { mistakes: [{ path: "until" }] } });
      expect(refused.body.mistakes[0].expected).toMatch(/^a duration such as "2h", or an instant in the future/);
      expect((await admin("GET", "/counts/api", { key: CLIENT })).body.override).toMatchObject({ block: true });
    },
  );

  it("in a whole document: a duration ends too, what has passed replaces nothing, and ended entries may move", async () => {
    const admin = adminOf();
    const replace = async (...overrides: object[]) => {
      const { etag } = await admin("GET", "/live");
      const all = overrides.map((one) => ({ policy: "api", kind: "ip", ...one }));
      return await admin("PUT", "/live", { ifMatch: etag, body: { policies: {}, overrides: all } });
    };
    const ended = { key: BOB, block: true, until: "2020-01-01T00:00:00Z" };
    expect(await replace({ key: ANN, block: true, until: "1h" }, ended)).toMatchObject({ status: 200 });
    const { body } = await admin("GET", "/live");
    expect(body.overrides).toMatchObject([{ until: "2026-11-22T13:00:01Z" }, ended]);
    const late = await replace({ key: ANN, factor: 2, until: "2026-11-22T11:00:00Z" }, ended);
    expect(late).toMatchObject({ status: 422, body: { mistakes: [{ path: "overrides[0].until" }] } });
  });
});

describe("who changed what", () => {
  const changesOf = async (admin: ReturnType<typeof adminOf>) => (await admin("GET", "/live")).body.changes;

  it("is kept with the document: who, when, which version, and each entry before and after", async () => {
    const admin = adminOf();
    const { body } = await admin("PUT", "/overrides/api", { key: CLIENT, body: { factor: 2, until: "1m", note: "n" } });
    const { key } = body.override;
    vi.setSystemTime(NOW_MS + 50_000);
    await admin("PATCH", "/policies/api", { body: { limits: { api: 5 } } });
    await admin("PATCH", "/policies/api", { body: { limits: { api: 5 } } });
    await admin("PATCH", "/policies/api", { body: { limits: null } });
    await admin("PUT", "/overrides/api", { key: CLIENT, body: { block: true } });
    await admin("PUT", "/overrides/api", { key: CLIENT, body: { factor: 0 } });
    // What has ended is taken away with the next change, and nobody did that.
    await admin("PUT", "/overrides/api", { key: OTHER, body: { block: true, until: "1s" } });
    vi.setSystemTime(NOW_MS + 60_000);
    const { etag, body: document } = await admin("GET", "/live");
    await admin("PUT", "/live", { ifMatch: etag, body: { ...document, overrides: [], changes: ["forged"] } });

    const [at, later] = ["2026-11-22T12:00:00.250Z", "2026-11-22T12:00:50.250Z"];
    const client = { policy: "api", kind: "ip", key };
    const factor = { factor: 2, until: "2026-11-22T12:01:01Z" };
    expect(await changesOf(admin)).toEqual([
      { at, by: "token", version: 1, changed: [{ ...client, is: factor }] },
      { at: later, by: "token", version: 2, changed: [{ policy: "api", is: { limits: { api: 5 } } }] },
      { at: later, by: "token", version: 3, changed: [{ policy: "api", was: { limits: { api: 5 } } }] },
      { at: later, by: "token", version: 4, changed: [{ ...client, was: factor, is: { block: true } }] },
      { at: later, by: "token", version: 5, changed: [{ ...client, key: expect.any(String), is: expect.anything() }] },
      { at: "2026-11-22T12:01:00.250Z", by: "token", version: 6, changed: [{ ...client, was: { block: true } }] },
    ]);
  });

  it("is the last 100 changes", async () => {
    const admin = adminOf();
    for (let i = 0; i < 102; i++) await admin("PATCH", "/policies/api", { body: { limits: { api: 100 + i } } });
    const changes = await changesOf(admin);
    expect([changes.length, changes[0].version, changes.at(-1).version]).toEqual([100, 3, 102]);
  });

  it("is all of it when many change it at once", async () => {
    const admin = adminOf();
    const clients = Array.from({ length: 12 }, (_, i) => `203.0.113.${i}`);
    await Promise.all(clients.map((key) => admin("PUT", "/overrides/api", { key, body: { block: true } })));
    const changes: { version: number; changed: { key: string }[] }[] = await changesOf(admin);
    expect(changes.map(({ version }) => version)).toEqual(clients.map((_, i) => i + 1));
    expect(new Set(changes.flatMap(({ changed }) => changed.map(({ key }) => key))).size).toBe(12);
  });

  const handmade = { at: "2026-11-22", by: "", version: 1, changed: [null, { policy: 3 }] };
  it.each<[unknown]>([["text"], [[null, 7, {}, { at: 1 }]], [[handmade, { ...handmade, at: "soon" }]]])(
    "that somebody has written by hand, %j, hinders nothing",
    (changes) => {
      const found = changesIn(changes);
      expect(found.flatMap(({ changed }) => changed)).toEqual([]);
      expect(found.map(({ at }) => new Date(at).toISOString())).toHaveLength(found.length);
    },
  );
});

describe("a document of another key secret", () => {
  const override = (i: number, fields: object = { block: true }) => {
    return { policy: "api", kind: "ip", key: String(i).padStart(22, "0"), ...fields };
  };

  /** An editor under the secret `OWN_SECRET`. @param stored what lies in the store. */
  async function editorOver(stored: object) {
    const storage = memoryLive();
    await storage.write(JSON.stringify(stored), 0);
    const reader = createLiveReader({
      ...{ storage, policies: POLICIES, refreshMs: 30_000, timeoutMs: 250 },
      ...{ secret: async () => OWN_SECRET, numbers: (policy) => policy, report: () => {} },
    });
    const editor = createLiveEditor(reader, POLICIES);
    return { editor, reader, text: async () => (await storage.read())!.text! };
  }

  const block = (editor: LiveEditor, key: string) =>
    editor.change("token", (document, _view, secret) =>
      setOverride(document, { policy: "api", kind: "ip", key, block: true }, secret, NOW_MS),
    );

  const OLD = "old-old-old-old-old-ol";

  it("keeps its old overrides as they are, marks the new one, and both secrets find theirs", async () => {
    const overrides = [override(1), override(2)];
    const { editor, reader, text } = await editorOver({ secret: OLD, policies: {}, overrides });
    expect(await block(editor, ANN)).toMatchObject({ change: { version: 2 } });
    const marked = { policy: "api", kind: "ip", key: ANN, block: true, secret: OWN_SECRET };
    expect(JSON.parse(await text())).toMatchObject({ secret: OLD, overrides: [...overrides, marked] });
    expect(reader.view()!.hasOtherSecret).toBe(true);
    expect(reader.view()!.client("api", ANN, NOW_MS)?.override).toMatchObject({ block: true });
    expect(reader.view()!.client("api", override(1).key, NOW_MS)).toBeUndefined();

    // With the last of the old ones the old secret goes.
    for (const { key } of overrides)
      await editor.change("token", (document) => removeOverride(document, { policy: "api", key }));
    expect(JSON.parse(await text()).secret).toBe(OWN_SECRET);
    expect(reader.view()!.hasOtherSecret).toBe(false);
    expect(reader.view()!.client("api", ANN, NOW_MS)?.override).toMatchObject({ block: true });
  });

  it("an edited document: a client that is new in it is one of the present secret, unless it says so itself", async () => {
    const overrides = [override(1)];
    const { editor, reader } = await editorOver({ secret: OLD, policies: {}, overrides });
    const edited = [override(1, { factor: 2 }), override(2), override(3, { block: true, secret: OLD })];
    const document = { secret: OLD, policies: {}, overrides: edited };
    expect(await editor.replace("token", document, () => true, NOW_MS)).toHaveProperty("change");
    expect(reader.view()!.document).toMatchObject({ secret: OLD });
    expect(reader.view()!.document.overrides.map(({ secret }) => secret)).toEqual([undefined, OWN_SECRET, OLD]);
    // A copy that moves into an empty store stays as it is.
    const empty = await editorOver({ policies: {}, overrides: [] });
    await empty.editor.replace("token", { secret: OLD, policies: {}, overrides }, () => true, NOW_MS);
    expect(empty.reader.view()!.document).toMatchObject({ secret: OLD, overrides });
  });

  /** As many as fit, and so many bytes more or less. */
  function full(moreBytes: number): object {
    const bytes = (n: object) => JSON.stringify({ format: 1, secret: OLD, policies: {}, overrides: n }).length;
    const overrides = Array.from({ length: 2_900 }, (_, i) => override(i));
    while (bytes(overrides) > MAX_LIVE_BYTES - 300) overrides.pop();
    const last = overrides.at(-1)!;
    overrides[overrides.length - 1] = { ...last, note: "" } as never;
    const note = "n".repeat(MAX_LIVE_BYTES - bytes(overrides) + moreBytes);
    overrides[overrides.length - 1] = { ...last, note } as never;
    return { secret: OLD, policies: {}, overrides };
  }

  it("that is full keeps no changes, and the first one that fits again", async () => {
    const { editor, text } = await editorOver(full(-120));
    await block(editor, ANN);
    expect(JSON.parse(await text())).not.toHaveProperty("changes");
    await editor.change("token", (document) => ({ ...document, overrides: document.overrides.slice(9) }));
    const [{ changed, more }, ...others] = JSON.parse(await text()).changes;
    expect([changed.length, more, others]).toEqual([5, 4, []]);
    expect((await text()).length).toBeLessThanOrEqual(MAX_LIVE_BYTES);
  });

  it.each([
    ["almost full", -110],
    ["over its bound", 40_000],
  ])("%s: what makes it smaller is never refused, and a block is refused only if it does not fit", async (_, more) => {
    const { editor, text } = await editorOver(full(more));
    expect(JSON.stringify(await block(editor, ANN))).toContain(more > 0 ? "bytes" : '"change"');
    const before = (await text()).length;
    const remove = (document: LiveDocument) => removeOverride(document, { policy: "api", key: override(5).key });
    expect(await editor.change("token", remove)).toHaveProperty("change");
    expect((await text()).length).toBeLessThan(before);
    const { overrides } = JSON.parse(await text());
    const smaller = { secret: OLD, policies: {}, overrides: overrides.slice(1) };
    expect(await editor.replace("token", smaller, () => true, NOW_MS)).toHaveProperty("change");
  });
});

it.each([
  ["/health", 200],
  ["/limits", 200],
  ["/limits/me", 200],
  ["/", 200],
  ["/admin/policies", 200],
  ["/admin/counts/api", 400],
])("%s also answers where the platform passes no context", async (path, status) => {
  const gateway = createGateway(BINDINGS);
  const headers = { Authorization: `Bearer ${TOKEN}`, "CF-Connecting-IP": CLIENT };
  const answer = await gateway.fetch(new Request(`https://gate.example/.headgate${path}`, { headers }), {});
  expect(answer.status).toBe(status);
});
