/** Pages that have nothing to show say why, and what to do. */

import type { ComponentChildren } from "preact";
import { Refused } from "../api.ts";

export function Notice({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="notice">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** What failed, every mistake in it, and what still holds. */
export function Failed({ error, holds }: { error: unknown; holds?: string }) {
  const mistakes = error instanceof Refused ? error.mistakes : [];
  return (
    <div class="failed" role="alert">
      <p>
        <strong>{error instanceof Error ? error.message : String(error)}</strong> {holds}
      </p>
      {mistakes.length > 0 && (
        <ul>
          {mistakes.map(({ path, expected, found }) => (
            <li key={path + expected}>
              {path && <code>{path}</code>} expected {expected}; found {found}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading …
    </p>
  );
}
