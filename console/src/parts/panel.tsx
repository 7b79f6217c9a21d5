/** What opens at a button, or in its place. It takes the focus, and gives it back when it closes. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Panel({ label, children }: { label: string; children: ComponentChildren }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const place = panel.current?.parentElement;
    panel.current?.focus();
    return () => {
      // Wait until the page is drawn again and the button is back. If the focus is elsewhere by then, leave it there.
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
