import { expect, it } from "vitest";
import { regionOf } from "../../../src/kernel/http/region.ts";

const NONE = { colo: {}, country: {}, continent: {} };
const NAMES = { colo: { FRA: "frankfurt" }, country: { DE: "germany" }, continent: { EU: "europe" } };
const here = { colo: "FRA", country: "DE", continent: "EU" };

it.each([
  ["REGION, whatever the codes say", "mine", NAMES, here, "mine"],
  ["the data centre's name first", undefined, NAMES, here, "frankfurt"],
  ["then the country's", undefined, NAMES, { ...here, colo: "MUC" }, "germany"],
  ["then the continent's", undefined, NAMES, { colo: "CDG", country: "FR", continent: "EU" }, "europe"],
  ["else the code of the continent", undefined, NAMES, { colo: "EWR", country: "US", continent: "NA" }, "NA"],
  ["local where Cloudflare says nothing", undefined, NAMES, undefined, "local"],
  // Another Worker that calls this one can put any value into `cf`.
  ["local where the continent is no name", undefined, NONE, { continent: "eu#5:60000" }, "local"],
  ["none that every table inherits", undefined, NONE, { colo: "constructor", country: "toString" }, "local"],
])("a region's name is %s", (_, region, names, cf, expected) => {
  const request = new Request("https://gate.example/");
  Object.defineProperty(request, "cf", { value: cf });
  expect(regionOf(request, region, names)).toBe(expected);
});
