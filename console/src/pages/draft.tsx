/** The live document as text, to be edited: the diff is shown while one types, and nothing is sent before. */

import { useState } from "preact/hooks";
import type { LiveAnswer } from "../api.ts";
import { textOf } from "../changes/change.ts";
import { ChangePanel } from "../changes/change-panel.tsx";
import { changeDocument, contentOf } from "../changes/document-changes.ts";
import { isEqual } from "../changes/edit.ts";
import { Panel } from "../parts/panel.tsx";

interface DraftState {
  readonly text: string;
  /** What it was made from: a newer document must not be overwritten by it. */
  readonly document: LiveAnswer;
}

export function Draft({ document }: { document: LiveAnswer }) {
  const [draft, setDraft] = useState<DraftState>();
  const begin = () => setDraft({ text: textOf(contentOf(document)), document });
  if (!draft) {
    return (
      <div class="buttons">
        <button type="button" onClick={begin}>
          Edit the whole document
        </button>
      </div>
    );
  }
  const close = () => setDraft(undefined);
  const after = parsed(draft.text);
  const isSame = after.value !== undefined && isEqual(after.value, contentOf(draft.document));
  return (
    <div>
      <Panel label="Edit the live document">
        <h3>Edit the live document</h3>
        {draft.document.version !== document.version && (
          <p class="failed" role="alert">
            Version {document.version} exists by now. This draft was made from version {draft.document.version}, and
            cannot be sent.{" "}
            <button type="button" class="small" onClick={begin}>
              Begin again
            </button>
          </p>
        )}
        <label>
          JSON
          <textarea
            rows={Math.min(24, draft.text.split("\n").length + 1)}
            value={draft.text}
            spellcheck={false}
            onInput={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
          />
        </label>
        {after.value === undefined ? (
          <p class="failed">{after.why}</p>
        ) : isSame ? (
          <p class="muted">Nothing is changed yet.</p>
        ) : (
          <ChangePanel
            change={changeDocument(draft.document, after.value)}
            verb="Replace"
            onDone={close}
            onCancel={close}
          />
        )}
        {(after.value === undefined || isSame) && (
          <p class="buttons">
            <button type="button" onClick={close}>
              Cancel
            </button>
          </p>
        )}
      </Panel>
    </div>
  );
}

type ReadDraft = { readonly value: ReturnType<typeof contentOf> } | { readonly value?: never; readonly why: string };

/** Only as far as the diff needs it: the gateway checks it all. */
function parsed(text: string): ReadDraft {
  try {
    const { policies, overrides } = JSON.parse(text);
    if (typeof policies === "object" && policies !== null && Array.isArray(overrides))
      return { value: { policies, overrides } };
    return { why: "Expected { policies: { … }, overrides: [ … ] }." };
  } catch (error) {
    return { why: `This is no JSON: ${(error as Error).message}` };
  }
}
