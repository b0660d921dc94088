import { declaredStatements } from '@eligo/postgres';
import pg from 'pg';
import type { TestDatabase } from './test-database.ts';

/** What the costliest run of a statement has read. */
export interface Reading {
  /** Rows that its scans returned, and those that they read and dropped. */
  readonly rows: number;
  /**
   * Pages that it looked at, in memory or not, to find its rows. The upkeep of indexes is left out: before a full index page splits, Postgres
   * reads the table's pages that its entries point to, and whether that happens in a given run is chance. So are the pages of the catalog that planning
   * reads inside a function: a connection that was told to forget what it knew of the catalog reads some 200 for one plan.
   */
  readonly pages: number;
  /** The plan of the run that read the most rows, for whoever asks why. */
  readonly plan: PlanNode;
}

/** A step of a plan, as `explain (analyze, buffers, format json)` has it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/**
 * Has the server tell of every statement that this process's connections to the database, opened from now on, run, with the plan that it ran by: as
 * the service's own role, with the values and the kind of plan that the service has. It also tells of what runs inside: functions, triggers, foreign
 * keys. What a test itself does as the administrator is left out. Answers a map that fills, by the statement's text.
 */
export async function readStatements(
  test: Pick<TestDatabase, 'name' | 'admin'>,
  { sequentialScans = true }: { sequentialScans?: boolean } = {},
): Promise<ReadonlyMap<string, Reading>> {
  const settings = {
    session_preload_libraries: 'auto_explain',
    enable_seqscan: sequentialScans ? 'on' : 'off',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    'auto_explain.log_parameter_max_length': '0',
  };
  // The settings of a library have no type until it is loaded.
  const sets = Object.entries(settings).map(([name, value]) => `alter database ${test.name} set ${name} = '${value}'`);
  await test.admin(`load 'auto_explain'; ${sets.join('; ')}`);
  const readings = new Map<string, Reading>();
  if (listeners.size === 0) listenToConnections();
  const [administrator] = await test.admin<{ name: string }>('select current_user as name');
  listeners.set(test.name, ({ user }, text, command) => {
    note(readings, text, command, user === administrator?.name);
  });
  return readings;
}

// By database. Plans come as notices, and whoever opens a connection here is deep inside what is tested.
const listeners = new Map<string, (by: pg.Client, notice: string, command: Command) => void>();

/** The command that a connection carries out: the pages of the statements inside it that have ended. */
interface Command {
  innerPages: number;
}

function listenToConnections(): void {
  const connect = pg.Client.prototype.connect;
  pg.Client.prototype.connect = function (this: pg.Client, ...whenDone: Parameters<typeof connect>) {
    const command: Command = { innerPages: 0 };
    this.on('notice', ({ message }) => listeners.get(this.database ?? '')?.(this, message ?? '', command));
    this.connection.on('commandComplete', () => {
      command.innerPages = 0;
    });
    return connect.apply(this, whenDone);
  } as typeof connect;
}

function note(readings: Map<string, Reading>, notice: string, command: Command, isAdministrator: boolean): void {
  const start = notice.indexOf('plan:\n');
  if (!notice.startsWith('duration:') || start < 0) return;
  const { 'Query Text': text, Plan: plan } = JSON.parse(notice.slice(start + 'plan:\n'.length)) as {
    'Query Text': string;
    Plan: PlanNode;
  };
  // An operator's erasures run as the administrator, too: their statements are declared, those of a test are not.
  if (isAdministrator && !isDeclared(text)) return;
  const before = readings.get(text);
  const rows = rowsRead(plan);
  const planningPages = Math.max(0, functionPages(plan) - command.innerPages);
  const pages = pagesOf(plan) - upkeepPages(plan) - planningPages;
  command.innerPages += pagesOf(plan);
  readings.set(text, {
    rows: Math.max(rows, before?.rows ?? 0),
    pages: Math.max(pages, before?.pages ?? 0),
    plan: before === undefined || rows > before.rows ? plan : before.plan,
  });
}

function isDeclared(text: string): boolean {
  return declaredStatements().some((one) => one.text === text || (one.kind === 'scoped' && one.read?.text === text));
}

function pagesOf(node: PlanNode): number {
  return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);
}

// A node's pages include those of the nodes below it; what a ModifyTable has beyond them, it spent on changing rows and index entries.
function upkeepPages(node: PlanNode): number {
  const inner = node.Plans ?? [];
  const below = inner.reduce((sum, plan) => sum + pagesOf(plan), 0);
  const own = node['Node Type'] === 'ModifyTable' ? Math.max(0, pagesOf(node) - below) : 0;
  return own + inner.reduce((sum, plan) => sum + upkeepPages(plan), 0);
}

// What a function reads beyond its statements, which have ended before it, is the catalog.
function functionPages(node: PlanNode): number {
  if (node['Node Type'] === 'Function Scan') return pagesOf(node);
  return (node.Plans ?? []).reduce((sum, inner) => sum + functionPages(inner), 0);
}

// A bitmap of an index has rows of its own: entries that were read.
function rowsRead(node: PlanNode): number {
  const isScan = /^(Seq|Index|Index Only|Bitmap Heap|Bitmap Index|Tid|Tid Range|Sample) Scan$/.test(node['Node Type']);
  const each =
    (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own = isScan ? Math.round(each * (node['Actual Loops'] ?? 0)) : 0;
  return own + (node.Plans ?? []).reduce((sum, inner) => sum + rowsRead(inner), 0);
}
