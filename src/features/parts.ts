/** What single features add to the decisions of every limiter, each if a policy uses it. */

import { once } from "../limiter/once.ts";
import { overflow } from "../limiter/overflow.ts";
import type { PartOf } from "../limiter/part.ts";
import { count } from "../limiter/reserve/attempts.ts";

/** From the innermost to the outermost: each policy of a chain is asked with its id, and told the waits of its own. */
export const PARTS: readonly PartOf[] = [once, count, overflow];
