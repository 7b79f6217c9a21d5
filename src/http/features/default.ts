/** The features that every way has, in no order. */

import type { Feature } from "../feature.ts";
import { count } from "./count.ts";
import { countedTwice } from "./counted-twice.ts";
import { delay } from "./delay.ts";
import { identity } from "./identity.ts";
import { once } from "./once.ts";
import { overflow, payer } from "./overflow.ts";
import { plans } from "./plans.ts";
import { preflight } from "./preflight.ts";
import { refusal } from "./refusal.ts";
import { reserve } from "./reserve.ts";
import { answers, asks } from "./rules.ts";
import { slots } from "./slots.ts";

export const DEFAULTS: readonly Feature[] = [
  answers,
  asks,
  count,
  countedTwice,
  delay,
  identity,
  once,
  overflow,
  payer,
  plans,
  preflight,
  refusal,
  reserve,
  slots,
];
