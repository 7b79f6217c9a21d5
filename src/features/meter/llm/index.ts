/**
 * For your own Workers in front of language models: what a request will use, what its answer has used, and refusals
 * that the providers' clients understand. No dependencies, and no side effects when imported.
 */

export type { Meter, Price, PriceStep, TokenPrice, Weights } from "../../../kernel/core/policy.ts";
export { type ErrorOptions, refusal } from "./errors.ts";
export { type Estimate, type EstimateOptions, estimateRequest } from "./estimate.ts";
export { type Format, formatOf } from "./format.ts";
export { type MeteredReservation, type MeterOptions, meterResponse } from "./meter-response.ts";
export { reservedUnits, usedUnits } from "./units.ts";
export type { Usage } from "./usage.ts";
