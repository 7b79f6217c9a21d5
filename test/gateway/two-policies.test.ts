import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";

it("leaves the site's count unchanged by what a user asks beyond the user's own limit", async () => {
  const [user, site] = [uniqueName("user"), uniqueName("site")];
  const gateway = await startGateway({
    policies: [
      { name: user, key: ["header:x-user"], limits: [{ limit: 5, window: "1h" }] },
      { name: site, key: ["global"], limits: [{ limit: 100, window: "1h" }] },
    ],
  });
  const asAlice = { headers: { "X-User": "alice" } };

  for (let request = 1; request <= 5; request++) {
    const answer = await gateway.fetch("/", asAlice);
    expect(answer.status).toBe(200);
    expect(fieldsOf(answer).states).toMatchObject({ [user]: { r: 5 - request }, [site]: { r: 100 - request } });
  }
  for (let request = 6; request <= 15; request++) {
    const answer = await gateway.fetch("/", asAlice);
    expect(answer.status).toBe(429);
    expect(await answer.json()).toMatchObject({ "violated-policies": [user] });
    expect(fieldsOf(answer).states).toMatchObject({ [user]: { r: 0 }, [site]: { r: 95 } });
  }
  const answer = await gateway.fetch("/", { headers: { "X-User": "bob" } });
  expect(answer.status).toBe(200);
  expect(fieldsOf(answer).states).toMatchObject({ [user]: { r: 4 }, [site]: { r: 94 } });
});
