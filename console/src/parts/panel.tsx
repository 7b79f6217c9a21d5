/** What opens at a button, or in its place. It takes the focus, and gives it back when it closes. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Panel({ label, children }: { label: string; children: ComponentChildren }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const place = panel.current?.parentElement;
    panel.current?.focus();
    return () => {
      // After the page is drawn anew: the button is there again, and who has moved on is left alone.
      setTimeout(() => {
        if (document.activeElement === document.body) place?.querySelector("button")?.focus();
      });
    };
  }, []);
  return (
    <section ref={panel} class="panel" tabIndex={-1} aria-label={label}>
      {children}
    </section>
  );
}
