/** What single features add to the decisions of every limiter, each if a policy uses it. */

import type { PartOf } from "../kernel/limiter/part.ts";
import { count } from "./count/attempts.ts";
import { once } from "./once/part.ts";
import { overflow } from "./overflow/part.ts";

/** From the innermost to the outermost: `count` shortens the waits of each policy of a chain that has refused. */
export const PARTS: readonly PartOf[] = [once, count, overflow];
