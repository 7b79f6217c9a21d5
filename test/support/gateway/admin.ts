// The admin API of gateways under test.

import { type Gateway, type GatewayOptions, startGateway } from "./gateway.ts";

export const ADMIN_TOKEN = "t0ken-of-the-admin-of-these-tests";
const ADMIN = "/.headgate/admin";

export interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  // Each test knows what it asks for.
  // biome-ignore lint/suspicious/noExplicitAny: as the result of `Response.json()`.
  readonly body: any;
}

export interface AdminGateway extends Gateway {
  /** Calls the admin API with the token. */
  admin(path: string, call?: Call): Promise<Called>;
}

/** A gateway with the admin token, which looks for changes every second. */
export async function startAdmin({ vars, ...options }: GatewayOptions): Promise<AdminGateway> {
  const gateway = await startGateway({ ...options, vars: { ADMIN_TOKEN, LIVE_REFRESH: "1s", ...vars } });
  return {
    ...gateway,
    async admin(path, { method = "GET", body, headers } = {}) {
      const answer = await gateway.fetch(`${ADMIN}${path}`, {
        method,
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    },
  };
}
