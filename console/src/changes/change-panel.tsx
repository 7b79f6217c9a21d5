/** A change before it is sent: the diff, whom it touches, its command. A dangerous one asks once more. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api.ts";
import { Command } from "../parts/command.tsx";
import { Failed } from "../parts/notice.tsx";
import { differences, type LiveChange, textOf } from "./change.ts";
import { type Done, perform } from "./history.ts";

interface ChangePanelProps {
  readonly change: LiveChange;
  /** What the button says: `Block`. */
  readonly verb: string;
  /** The change that this one takes back. */
  readonly undone?: Done;
  onDone(): void;
  onCancel(): void;
  /** It was not made, or nobody knows. */
  onFailed?(): void;
}

export function ChangePanel({ change, verb, undone, onDone, onCancel, onFailed }: ChangePanelProps) {
  const [asks, setAsks] = useState(false);
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const confirm = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (asks) confirm.current?.focus();
  }, [asks]);

  async function send() {
    setSending(true);
    setFailure(undefined);
    try {
      await perform(change, undone);
      onDone();
    } catch (error) {
      setFailure(error);
      setAsks(false);
      onFailed?.();
    } finally {
      setSending(false);
    }
  }

  return (
    <div class="change">
      <Diff before={change.before} after={change.after} />
      <p class="touches">
        <b>Touches</b> {change.touches}
      </p>
      <Command text={change.command} />
      {failure !== undefined && <Failed error={failure} holds={holdsAfter(failure)} />}
      {asks ? (
        <fieldset class="ask">
          <legend>{change.title}?</legend>
          <p>{change.touches}</p>
          <button ref={confirm} type="button" class="danger" disabled={isSending} onClick={send}>
            Yes: {verb.toLowerCase()}
          </button>
          <button type="button" onClick={() => setAsks(false)}>
            No
          </button>
        </fieldset>
      ) : (
        <p class="buttons">
          <button
            type="button"
            class={change.isDangerous ? "danger" : "primary"}
            disabled={isSending}
            onClick={change.isDangerous ? () => setAsks(true) : send}
          >
            {verb}
            {change.isDangerous && " …"}
          </button>
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        </p>
      )}
    </div>
  );
}

/** Whether the change was made is known, or it is not. */
function holdsAfter(error: unknown): string {
  if (!(error instanceof Refused) || error.mayBeDone) {
    return "The change may or may not have been made. Check before you repeat it.";
  }
  return error.status === 412 ? "" : "Nothing was changed.";
}

const SIGNS = { same: " ", gone: "−", new: "+" };
const WORDS = { same: "", gone: "removed: ", new: "added: " };

function Diff({ before, after }: { before: unknown; after: unknown }) {
  const [old, young] = [textOf(before), textOf(after)];
  if (old === young) return null;
  return (
    <figure class="diff">
      <figcaption>What changes</figcaption>
      <pre>
        {differences(old, young).map(({ is, text }, i) => (
          <span key={i} class={is}>
            <span aria-hidden="true">{SIGNS[is]} </span>
            {is !== "same" && <span class="unseen">{WORDS[is]}</span>}
            {text}
            {"\n"}
          </span>
        ))}
      </pre>
    </figure>
  );
}
