import { expect, it } from "vitest";
import { FIELDS } from "../../../src/features/configuration.ts";
import type { Field } from "../../../src/kernel/config/fields/field.ts";

it("fields that are absent in an overflow are those with a default or none that the policy before it says", () => {
  const ofHead = Object.entries<Field>(FIELDS).filter(([, { isOfHead }]) => isOfHead);
  for (const [name, { isOptional, default: usual }] of ofHead) {
    expect(isOptional ?? usual !== undefined, name).toBe(true);
  }
});
