/** The features for handlers that show the way neither bodies nor answers, in the order of order.ts. */

import { count } from "./count.ts";
import { countedTwice } from "./counted-twice.ts";
import { delay } from "./delay.ts";
import { identity } from "./identity.ts";
import { once } from "./once.ts";
import { overflow, payer } from "./overflow.ts";
import { plans } from "./plans.ts";
import { refusal } from "./refusal.ts";
import { reserve } from "./reserve.ts";
import { rpc } from "./rpc.ts";
import { answers, asks } from "./rules.ts";
import { slots } from "./slots.ts";

/** A list of its own, so that what reads bodies is not in the bundle of such a handler. */
export const WITHOUT_BODIES = [
  answers,
  refusal,
  countedTwice,
  overflow,
  count,
  reserve,
  slots,
  delay,
  rpc,
  identity,
  once,
  plans,
  asks,
  payer,
];
