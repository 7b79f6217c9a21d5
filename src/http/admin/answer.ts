/** Answers of the admin API: JSON that nobody stores, and that no page of another origin can read. */

import { type Problem, ProblemType } from "../problem.ts";

export function answer<T>(body: T, headers: Record<string, string> = {}): Response {
  return Response.json(body, { headers: { "Cache-Control": "no-store", ...headers } });
}

type AdminProblem = Partial<Problem> & Pick<Problem, "title" | "status" | "detail">;

export function problem(shown: AdminProblem, headers: Record<string, string> = {}): Response {
  const all = { "Content-Type": "application/problem+json", "Cache-Control": "no-store", ...headers };
  return new Response(JSON.stringify({ type: ProblemType.blank, ...shown }), { status: shown.status, headers: all });
}

export function badRequest(detail: string): Response {
  return problem({ title: "Bad Request", status: 400, detail });
}

export function notFound(detail: string): Response {
  return problem({ title: "Not Found", status: 404, detail });
}

/** @param known what could be found out without the store. */
export function unavailable(detail: string, known: object = {}): Response {
  const type = ProblemType.temporaryReducedCapacity;
  return problem({ type, title: "Temporary Reduced Capacity", status: 503, detail, ...known }, { "Retry-After": "1" });
}
