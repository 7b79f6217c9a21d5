/** `/live`: the whole live document. */

import type { Newest } from "../../limiter/live/edit.ts";
import { answer, problem } from "./answer.ts";
import { type AdminApp, answerChange, type Calls, etagOf, meantBy, NEWER, NO_LIVE, readBody } from "./calls.ts";

export function serveLive(app: AdminApp, { editor }: Calls): void {
  app.get("/live", async () => {
    if (!editor) return NO_LIVE();
    const newest = await editor.newest();
    return answer(describe(newest), { ETag: etagOf(newest.version) });
  });

  app.put("/live", async (c) => {
    if (!editor) return NO_LIVE();
    const isMeant = meantBy(c);
    if (!isMeant) {
      const detail = "If-Match must be the ETag of the document that this one replaces: GET /live.";
      return problem({ title: "Precondition Required", status: 428, detail });
    }
    const body = await readBody(c);
    if (body instanceof Response) return body;
    return await answerChange(
      { by: c.get("by"), call: "PUT /live" },
      () => editor.replace(body.value, isMeant),
      ({ after }) => after,
      isMeant,
    );
  });
}

const BEFORE = "The stored document is damaged or gone. This one, read before, is in force here; a change stores it.";

const NOTES: Readonly<Record<Newest["state"], readonly string[]>> = {
  good: [],
  newer: [NEWER],
  damaged: [BEFORE],
  gone: [BEFORE],
};

function describe({ version, view, state }: Newest) {
  const { secret, policies = {}, overrides = [] } = view?.document ?? {};
  const notes = [...NOTES[state], ...(view?.hasOtherSecret ? [OTHER_SECRET] : [])];
  return {
    version,
    policies,
    overrides,
    ...(secret !== undefined && { secret }),
    ignored: view?.ignored ?? [],
    ...(notes.length > 0 && { notes }),
  };
}

/** Health shows this note too. */
export const OTHER_SECRET =
  "live: overrides were written under another key secret; the clients of these overrides cannot be found";
