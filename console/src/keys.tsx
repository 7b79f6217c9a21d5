/** The keyboard: `/` looks up, `g` and a letter opens a page, `?` lists them. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { region, zoom } from "./data/view.ts";
import { goTo, type PageName } from "./route.ts";

const PAGE_KEYS: Readonly<Record<string, PageName>> = {
  o: "overview",
  p: "policies",
  c: "clients",
  h: "changes",
  e: "explain",
};

/** How long `g` waits for its letter. */
const WAIT_MS = 1_500;

export function useKeys(field: RefObject<HTMLInputElement | null>, onHelp: () => void): void {
  const latest = useRef(onHelp);
  latest.current = onHelp;
  useEffect(() => {
    let wentAtMs = Number.NEGATIVE_INFINITY;
    function press(event: KeyboardEvent) {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey) return;
      const isTyping = target instanceof HTMLElement && target.matches("input, textarea, select");
      if (key === "Escape") {
        if (isTyping) target.blur();
        else zoom.set(undefined);
        return;
      }
      if (isTyping) return;
      const page = Date.now() - wentAtMs < WAIT_MS ? PAGE_KEYS[key] : undefined;
      wentAtMs = key === "g" ? Date.now() : Number.NEGATIVE_INFINITY;
      if (page) goTo(page);
      else if (key === "/") field.current?.focus();
      else if (key === "?") latest.current();
      else if (key === "a" && region.get() !== undefined) region.set(undefined);
      else return;
      event.preventDefault();
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [field]);
}

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["/", "look up a client"],
  ["g o", "overview"],
  ["g p", "policies"],
  ["g c", "clients"],
  ["g h", "changes"],
  ["g e", "explain"],
  ["a", "all regions"],
  ["Esc", "leave a field; show the whole chart again"],
  ["?", "this list"],
];

export function Help({ dialog }: { dialog: RefObject<HTMLDialogElement | null> }) {
  return (
    <dialog ref={dialog} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
