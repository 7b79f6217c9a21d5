/** The features that every program has, in no order. One that no policy uses is on the way of no request. */

import type { Feature } from "../kernel/http/feature.ts";
import { count } from "./count/count.ts";
import { delay } from "./delay/delay.ts";
import { identity } from "./identity/on-the-way.ts";
import { once } from "./once/once.ts";
import { overflow, payer } from "./overflow/overflow.ts";
import { plans } from "./plans/plans.ts";
import { preflight } from "./preflight/preflight.ts";
import { refusal } from "./refusal/refusal.ts";
import { reserve } from "./reserve/reserve.ts";
import { slots } from "./slots/slots.ts";

export const DEFAULTS: readonly Feature[] = [
  count,
  delay,
  identity,
  once,
  overflow,
  payer,
  plans,
  preflight,
  refusal,
  reserve,
  slots(),
];
