import { expect, it, vi } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { gatewayWith, uniqueName } from "./support.ts";

it("a policy in shadow never refuses and is never shown, but its refusals are logged", async () => {
  const [shadow, enforced] = [uniqueName("shadow"), uniqueName("enforced")];
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const ask = gatewayWith({
    POLICIES: [
      { name: shadow, mode: "shadow", limits: [{ limit: 1, window: "1h" }] },
      { name: enforced, limits: [{ limit: 3, window: "1h" }] },
    ],
  });

  const answers = [await ask("/"), await ask("/"), await ask("/"), await ask("/")];
  const lines = log.mock.calls.map(([line]) => JSON.parse(line as string));
  log.mockRestore();

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  for (const answer of answers) {
    const { policies, states, legacy } = fieldsOf(answer);
    expect([Object.keys(policies!), Object.keys(states!)]).toEqual([[enforced], [enforced]]);
    expect(legacy!.limit).toBe(3);
    expect([...answer.headers].join() + (await answer.text())).not.toContain(shadow);
  }
  expect(lines.map(({ event, violated, shadow }) => [event, violated, shadow])).toEqual([
    ["shadow-refused", [], [shadow]],
    ["shadow-refused", [], [shadow]],
    ["refused", [enforced], [shadow]],
  ]);
});

it("a request that only a policy in shadow matches is answered as if there were none", async () => {
  const ask = gatewayWith({
    POLICIES: [{ name: uniqueName("alone"), mode: "shadow", limits: [{ limit: 1, window: "1h" }] }],
  });
  for (let i = 0; i < 3; i++) {
    const answer = await ask("/");
    expect(answer.status).toBe(200);
    expect(fieldsOf(answer)).toEqual({});
  }
});

it("an enforced refusal charges no policy in shadow", async () => {
  const [shadow, enforced] = [uniqueName("shadow"), uniqueName("enforced")];
  const limits = (limit: number) => [{ limit, window: "1h" }];
  const inShadow = gatewayWith({
    POLICIES: [
      { name: enforced, limits: limits(1) },
      { name: shadow, mode: "shadow", limits: limits(9) },
    ],
  });
  // The same key under an enforced policy shows the units left.
  const shown = gatewayWith({ POLICIES: [{ name: shadow, limits: limits(9) }] });

  await inShadow("/");
  await inShadow("/");
  await inShadow("/");
  expect(fieldsOf(await shown("/")).states).toMatchObject({ [shadow]: { r: 7 } });
});
