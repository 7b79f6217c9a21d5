/** `/policies`, `/overrides` and `/live`: the live document, and what it makes of the policies. */

import { writePolicy } from "../../features/configuration.ts";
import { type LiveOverride, namedOverrides } from "../../features/live/document.ts";
import { endOf } from "../../features/live/fields.ts";
import type { LiveView } from "../../features/live/view.ts";
import { isTable } from "../../kernel/config/bindings.ts";
import { writeLimit } from "../../kernel/config/fields/limits.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import { describePer } from "../../kernel/http/quota.ts";
import { answer, type LiveAnswer, type PoliciesAnswer, type PolicyAnswer, problem } from "./answers.ts";
import {
  type AdminApp,
  type AdminCalls,
  answerChange,
  etagOf,
  foreignNote,
  meantBy,
  NO_LIVE,
  shownClient,
} from "./calls.ts";
import { checkOverride } from "./check-document.ts";
import { type Newest, overrideIn, patchPolicy, removeOverride, setOverride } from "./edit-document.ts";
import { changesIn } from "./made-changes.ts";

/** The policies with the numbers and modes in force, and changes of them. */
export function servePolicies(app: AdminApp, { limiter, editor, forPolicy }: AdminCalls): void {
  app.get("/policies", async () => {
    const { version = 0, view } = (await editor?.newest()) ?? {};
    const policies = limiter.policies.map((policy) => describePolicy(policy, view));
    return answer<PoliciesAnswer>({ version, policies }, { ETag: etagOf(version) });
  });

  app.patch(
    "/policies/:policy",
    forPolicy((c, policy) =>
      answerChange(
        c,
        editor,
        { call: `PATCH /policies/${policy.name}` },
        (live, by, body, isMeant) => live.change(by, (document) => patchPolicy(document, policy, body), isMeant),
        ({ policies }) => ({ policy: ownEntry(policies, policy.name) ?? {} }),
      ),
    ),
  );
}

/** Other numbers, a plan, an exemption or a block for single clients. */
export function serveOverrides(app: AdminApp, { editor, forClient }: AdminCalls): void {
  app.get("/overrides", async () => {
    if (!editor) return NO_LIVE();
    const { version, view } = await editor.newest();
    const overrides = view ? namedOverrides(view.document) : [];
    return answer({ version, overrides }, { ETag: etagOf(version) });
  });

  app.on(
    ["PUT", "DELETE"],
    "/overrides/:policy",
    forClient((c, { applied }, policy) => {
      const client = shownClient(applied);
      const nowMs = Date.now();
      return answerChange(
        c,
        editor,
        { call: `${c.req.method} /overrides/${policy.name}`, client },
        (live, by, body, isMeant) =>
          live.change(
            by,
            (document, view, secret) => {
              if (c.req.method === "DELETE") return removeOverride(document, client);
              const fields = isTable(body) ? { ...body, until: endOf(body.until, nowMs) } : body;
              // A factor multiplies the numbers that hold for everybody now.
              const mistakes = checkOverride(fields, "", view.policy(policy), nowMs);
              if (mistakes.length > 0) return mistakes;
              return setOverride(document, { ...client, ...(fields as LiveOverride) }, secret, nowMs);
            },
            isMeant,
          ),
        (document) => ({ override: overrideIn(document, client, nowMs) ?? null }),
      );
    }),
  );
}

/** The whole document. */
export function serveLive(app: AdminApp, { editor }: AdminCalls): void {
  app.get("/live", async () => {
    if (!editor) return NO_LIVE();
    const newest = await editor.newest();
    return answer<LiveAnswer>(describeDocument(newest), { ETag: etagOf(newest.version) });
  });

  app.put("/live", async (c) => {
    const isReplaced = meantBy(c);
    if (editor && !isReplaced) {
      const detail = "If-Match must be the ETag of the document that this one replaces: GET /live.";
      return problem({ title: "Precondition Required", status: 428, detail });
    }
    return await answerChange(
      c,
      editor,
      { call: "PUT /live" },
      (live, by, body) => live.replace(by, body, isReplaced!, Date.now()),
      // The newest document may be long: it has a call of its own.
      (document, isRefused) => (isRefused ? {} : document),
    );
  });
}

function describePolicy(configured: Policy, view: LiveView | undefined): PolicyAnswer {
  const policy = view?.policy(configured) ?? configured;
  const limits = policy.limits.map((limit) => ({ id: limit.id, ...writeLimit(limit), per: describePer(limit) }));
  const entry = ownEntry(view?.document.policies, policy.name);
  // Only by hand can something else than a table get into the store. It does nothing.
  return { ...writePolicy(policy), limits, live: isTable(entry) ? entry : null } as PolicyAnswer;
}

/** A policy may be named like what every object has: `constructor`. */
function ownEntry<T>(table: Readonly<Record<string, T>> = {}, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

const BEFORE =
  "The stored document is damaged or missing. The last one that was read stays in force, and your next change stores it.";

const NOTES: Readonly<Record<Newest["state"], (owner?: string) => readonly string[]>> = {
  good: () => [],
  foreign: (owner) => [foreignNote(owner)],
  damaged: () => [BEFORE],
  gone: () => [BEFORE],
};

/** Health shows this note too. */
export const OTHER_SECRET = "live: the overrides were written under another key secret, and match no clients";

function describeDocument({ version, view, state, owner }: Newest): LiveAnswer {
  const { secret, policies = {}, overrides = [], changes } = view?.document ?? {};
  const notes = [...NOTES[state](owner), ...(view?.hasOtherSecret ? [OTHER_SECRET] : [])];
  return {
    version,
    policies,
    overrides,
    ...(owner !== undefined && { owner }),
    ...(secret !== undefined && { secret }),
    changes: changesIn(changes),
    ignored: view?.ignored ?? [],
    ...(notes.length > 0 && { notes }),
  };
}
