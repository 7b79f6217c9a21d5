/** `/overrides`: other numbers, a plan, an exemption or a block for single clients. */

import { checkOverride } from "../../limiter/live/check.ts";
import { type LiveOverride, namedOverrides } from "../../limiter/live/document.ts";
import { removeOverride, setOverride } from "../../limiter/live/edit.ts";
import { answer } from "./answer.ts";
import { type AdminApp, answerChange, type Calls, meantBy, NO_LIVE, readBody, shownClient } from "./calls.ts";

export function serveOverrides(app: AdminApp, { editor, forClient }: Calls): void {
  app.get("/overrides", async () => {
    if (!editor) return NO_LIVE();
    const { version, view } = await editor.newest();
    return answer({ version, overrides: view ? namedOverrides(view.document) : [] });
  });

  app.put(
    "/overrides/:policy",
    forClient(async (c, { applied }, policy) => {
      if (!editor) return NO_LIVE();
      const body = await readBody(c);
      if (body instanceof Response) return body;
      const client = shownClient(applied);
      // The body comes last. A body that is not an object has no fields to spread, and is a mistake below.
      const override = { ...client, ...(body.value as object) } as LiveOverride;
      const isMeant = meantBy(c);
      return await answerChange(
        { by: c.get("by"), call: `PUT /overrides/${policy.name}`, client },
        () =>
          editor.change((document, view) => {
            // A factor multiplies the numbers that hold for everybody now.
            const mistakes = checkOverride(body.value, "", view.policy(policy));
            return mistakes.length > 0 ? mistakes : setOverride(document, override, Date.now());
          }, isMeant),
        () => ({ override }),
        isMeant,
      );
    }),
  );

  app.delete(
    "/overrides/:policy",
    forClient(async (c, { applied }, policy) => {
      if (!editor) return NO_LIVE();
      const client = shownClient(applied);
      const isMeant = meantBy(c);
      return await answerChange(
        { by: c.get("by"), call: `DELETE /overrides/${policy.name}`, client },
        () => editor.change((document) => removeOverride(document, client), isMeant),
        () => ({ override: null }),
        isMeant,
      );
    }),
  );
}
