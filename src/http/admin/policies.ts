/** `/policies`: the policies with the numbers and modes in force, and changes of them. */

import { isTable } from "../../config/bindings.ts";
import { writeLimit } from "../../config/limits.ts";
import { writePolicy } from "../../config/policies.ts";
import { patchPolicy } from "../../limiter/live/edit.ts";
import { answer } from "./answer.ts";
import { type AdminApp, answerChange, type Calls, meantBy, NO_LIVE, readBody } from "./calls.ts";

export function servePolicies(app: AdminApp, { limiter, editor, forPolicy }: Calls): void {
  app.get("/policies", async () => {
    const { version = 0, view } = (await editor?.newest()) ?? {};
    const policies = limiter.policies.map((configured) => {
      const policy = view?.policy(configured) ?? configured;
      return {
        ...writePolicy(policy),
        limits: policy.limits.map((limit) => ({ id: limit.id, ...writeLimit(limit) })),
        live: tableOf(ownEntry(view?.document.policies, policy.name)),
      };
    });
    return answer({ version, policies });
  });

  app.patch(
    "/policies/:policy",
    forPolicy(async (c, policy) => {
      if (!editor) return NO_LIVE();
      const body = await readBody(c);
      if (body instanceof Response) return body;
      const isMeant = meantBy(c);
      return await answerChange(
        { by: c.get("by"), call: `PATCH /policies/${policy.name}` },
        () => editor.change((document) => patchPolicy(document, policy, body.value), isMeant),
        ({ after }) => ({ policy: ownEntry(after.policies, policy.name) ?? {} }),
        isMeant,
      );
    }),
  );
}

/** Only by hand can something else get into the store. It does nothing. */
function tableOf(entry: unknown): object | null {
  return isTable(entry) ? entry : null;
}

/** A policy may be named like what every object has: `constructor`. */
function ownEntry<T>(table: Readonly<Record<string, T>> = {}, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
