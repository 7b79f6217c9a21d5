/** What is guarded by few attempts, and should not be counted ahead. */

import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";

/** On the way of no request. */
export const sharedWarns: Feature = { name: "shared", warn: sharedWarnings, around: () => ({}) };

/** The first attempts of many isolates at once all pass under `shared`. */
const FEW_ATTEMPTS =
  /log-?in|sign-?in|auth|passw|token|otp|pay|checkout|charge|order|purchase|transfer|coupon|voucher/i;

/** @returns a warning for a policy under `shared` that matches a path like login or payment. */
function sharedWarnings(policy: Policy): string[] {
  const { name, consistency } = policy;
  const path = consistency === "shared" && policy.match.path?.find((path) => FEW_ATTEMPTS.test(path));
  if (!path) return [];
  return [
    `policy ${name} has consistency = "shared" and matches ${path}: attempts that reach several instances at once are not counted together at first. If every attempt matters, use "strict"`,
  ];
}
