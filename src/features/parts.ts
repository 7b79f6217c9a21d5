/** What single features add to the decisions of every limiter, each if a policy uses it. */

import type { PartOf } from "../kernel/limiter/part.ts";
import { count } from "./count/attempts.ts";
import { meter } from "./meter/part.ts";
import { once } from "./once/part.ts";
import { overflow } from "./overflow/part.ts";
import { slots } from "./slots/part.ts";

/**
 * From the innermost to the outermost: each attempt of `overflow` has slots of its own, and `count` shortens the waits
 * of each policy of a chain that has refused. Of a policy with both a meter says what is reserved.
 */
export const PARTS: readonly PartOf[] = [slots, once, meter, count, overflow];
