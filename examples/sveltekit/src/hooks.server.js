import { building } from "$app/environment";
import { limit } from "./limit.js";

export function handle({ event, resolve }) {
  if (building) return resolve(event);
  const { env, ctx } = event.platform;
  return limit(event.request, env, ctx, () => resolve(event));
}
