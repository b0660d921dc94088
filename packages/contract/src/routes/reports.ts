import { z } from 'zod';
import { reconciliationSchema } from '../resources/reconciliation.ts';
import { defineRoute } from '../route.ts';

/** The most days of one report. */
export const mostReportDays = 366;

const dayMs = 86_400_000;
const day = z.iso.date({ error: 'Must be a day, as 2026-11-22' });

/** Days in UTC. One alone is the only day; none is yesterday, the last whole day. */
const reportQuery = z
  .object({ from: day.optional(), to: day.optional(), format: z.enum(['json', 'csv']).default('json') })
  .superRefine(({ from, to }, context) => {
    if (from === undefined || to === undefined) return;
    const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
    const refuse = (error: string) =>
      context.addIssue({ code: 'custom', path: ['to'], message: error, params: { type: 'invalid_combination' } });
    if (days < 1) refuse('Must not be before from');
    else if (days > mostReportDays) refuse(`Must be at most ${mostReportDays} days with from`);
  });

export const reportRoutes = {
  reconciliation: defineRoute({
    id: 'reports.reconciliation',
    summary: 'Reconcile the balance at the processor with the records, day by day, as JSON or CSV',
    method: 'GET',
    path: '/v1/reports/reconciliation',
    scope: 'reports_read',
    owner: 'refunds',
    query: reportQuery,
    response: z.strictObject({ reconciliation: reconciliationSchema }),
    streamed: true,
    otherTypes: ['text/csv'],
  }),
};
