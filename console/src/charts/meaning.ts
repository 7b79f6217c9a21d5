/**
 * The meanings that colours have, everywhere. Each is also told without colour: would refuse is hatched, unavailable is
 * ink, refused is the darkest in print. The hues are Paul Tol's "medium contrast": colour-blind readers can tell them
 * apart.
 */

import type { Outcome } from "../api.ts";

export type Meaning = "admitted" | "refused" | "would" | "unavailable" | (typeof ANSWERS)[number]["is"];

export const MEANINGS: readonly { readonly is: Meaning; readonly name: string; readonly outcomes: Outcome[] }[] = [
  { is: "admitted", name: "Admitted", outcomes: ["admitted", "overflowed", "spared"] },
  { is: "would", name: "Would refuse", outcomes: ["shadow_refused"] },
  { is: "refused", name: "Refused", outcomes: ["refused", "banned", "blocked"] },
  { is: "unavailable", name: "Unavailable", outcomes: ["unavailable"] },
];

/** What the origin answered is grey, because it is no decision: the darker, the worse; hollow, because nothing came. */
export const ANSWERS = [
  { is: "answered", name: "2xx, 3xx", statuses: ["1xx", "2xx", "3xx"] },
  { is: "mistaken", name: "4xx", statuses: ["4xx"] },
  { is: "failing", name: "5xx", statuses: ["5xx"] },
  { is: "silent", name: "No answer", statuses: ["none"] },
] as const satisfies readonly { readonly statuses: readonly string[]; readonly [word: string]: unknown }[];
