/**
 * The meanings that colours have, everywhere. Each is also told without colour: would refuse is hatched, unavailable is
 * ink, refused is the darkest in print. The hues are Paul Tol's "medium contrast": colour-blind readers can tell them
 * apart.
 */

import type { Outcome } from "../api.ts";

export type Meaning = "admitted" | "refused" | "would" | "unavailable";

export const MEANINGS: readonly { readonly is: Meaning; readonly name: string; readonly outcomes: Outcome[] }[] = [
  { is: "admitted", name: "Admitted", outcomes: ["admitted", "overflowed", "spared"] },
  { is: "would", name: "Would refuse", outcomes: ["shadow_refused"] },
  { is: "refused", name: "Refused", outcomes: ["refused", "banned", "blocked"] },
  { is: "unavailable", name: "Unavailable", outcomes: ["unavailable"] },
];
