import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { componentNames } from '../src/components.ts';
import { repositoryRoot } from '../src/home.ts';
import { type ComposeFile, type ComposeService, environmentOf, interpolate, readCompose } from './support/compose.ts';
import { findPromtool } from './support/find-promtool.ts';

/** A rule, as far as the tests look. */
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

/** A case of the rules, as promtool reads it. */
interface AlertCase {
  readonly name: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly promql_expr_test: readonly { readonly exp_samples: readonly { readonly labels: string }[] }[];
}

const compose = readCompose();
const folder = join(repositoryRoot, 'deploy', 'observe');
const read = <Content>(path: string) => parse(readFileSync(join(folder, path), 'utf8')) as Content;
const { groups } = read<{ groups: { name: string; rules: Alert[] }[] }>('prometheus/alerts.yml');
const alerts = groups.flatMap(({ rules }) => rules);
const promtoolPath = await findPromtool();

function serviceNamed(name: string): ComposeService {
  const service = compose.services[name];
  if (!service) throw new Error(`the compose file has no service ${name}`);
  return service;
}

it('scrapes each component at the admin port that it has [D14.219]', () => {
  const { scrape_configs } = read<{ scrape_configs: { dns_sd_configs?: { names: string[]; port: number }[] }[] }>(
    'prometheus/prometheus.yml',
  );
  const scraped = scrape_configs.flatMap(({ dns_sd_configs = [] }) => dns_sd_configs);
  const places = scraped.flatMap(({ names, port }) => names.map((name) => [name, String(port)]));
  const open = componentNames.map((name) => [name, serviceNamed(name).environment?.ADMIN_PORT]);
  expect(places.toSorted()).toEqual(open.toSorted());
});

describe('the profile observe [D14.215]', () => {
  const observers = ['prometheus', 'jaeger', 'grafana'];

  it.each(observers)('mounts for %s what is there, and keeps its data in a volume that is declared', (name) => {
    for (const mount of serviceNamed(name).volumes ?? []) {
      const [source = '', , mode] = mount.split(':');
      if (!source.startsWith('./')) expect(Object.keys(compose.volumes)).toContain(source);
      else expect([source, existsSync(join(repositoryRoot, source)), mode]).toEqual([source, true, 'ro']);
    }
  });

  it.each([
    ['prometheus', 'PROMETHEUS', 9090],
    ['jaeger', 'JAEGER', 16686],
    ['grafana', 'GRAFANA', 3000],
  ])('publishes the page of %s on the machine’s own address, and takes another image or port', (name, prefix, port) => {
    const { ports = [], image = '', networks = [], healthcheck } = serviceNamed(name);
    expect(ports.map((one) => interpolate(one, {}))).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(ports.map((one) => interpolate(one, { [`${prefix}_PORT`]: '7000' }))).toEqual([`127.0.0.1:7000:${port}`]);
    expect(interpolate(image, { [`${prefix}_IMAGE`]: 'mine@sha256:0' })).toBe('mine@sha256:0');
    expect(networks).toContain('observers');
    expect(compose.networks.observers).toEqual({});
    expect(healthcheck?.test.slice(0, 2)).toEqual(['CMD', 'wget']);
  });

  it('takes traces where every component reaches it', () => {
    const endpoint = 'http://jaeger:4318';
    const jaeger = read<Record<string, Record<string, unknown>>>('jaeger.yml');
    expect(jaeger.receivers).toEqual({ otlp: { protocols: { http: { endpoint: '0.0.0.0:4318' } } } });
    for (const name of componentNames) {
      const given = environmentOf(
        { environment: { url: serviceNamed(name).environment?.OTEL_EXPORTER_OTLP_ENDPOINT ?? '' } },
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        },
      );
      expect(given.url).toBe(endpoint);
      const shared = serviceNamed(name).networks?.filter((network) =>
        serviceNamed('jaeger').networks?.includes(network),
      );
      expect(shared, name).toEqual(['inside']);
    }
  });

  it('keeps only extensions, receivers and exporters in the trace viewer’s file that its pipeline uses', () => {
    const { service, ...parts } = read<{
      service: { extensions: string[]; pipelines: { traces: Record<string, string[]> } };
      [part: string]: Record<string, unknown> & object;
    }>('jaeger.yml');
    const used = { ...service.pipelines.traces, extensions: service.extensions };
    for (const [part, names] of Object.entries(used))
      expect(Object.keys(parts[part] ?? {}).sort()).toEqual([...names].sort());
  });

  it('scrapes the admin port of each component by its name', () => {
    const { scrape_configs: jobs } = read<{
      scrape_configs: { job_name: string; dns_sd_configs?: { names: string[]; port: number; type: string }[] }[];
    }>('prometheus/prometheus.yml');
    const [discovery] = jobs.find(({ job_name }) => job_name === 'eligo')?.dns_sd_configs ?? [];
    expect([...(discovery?.names ?? [])].sort()).toEqual([...componentNames].sort());
    for (const name of componentNames) {
      expect(serviceNamed(name).environment?.ADMIN_PORT).toBe(String(discovery?.port));
      expect(serviceNamed(name).networks).toContain('inside');
    }
    expect(serviceNamed('prometheus').networks).toContain('inside');
  });

  it('gives Grafana sources that it reaches, dashboards, no accounts and no secrets', () => {
    const { datasources } = read<{ datasources: { uid: string; url: string }[] }>('grafana/datasources/eligo.yml');
    for (const { uid, url } of datasources) {
      const { hostname, port } = new URL(url);
      const { ports = [], networks } = serviceNamed(hostname);
      expect([uid, ports.map((one) => one.split(':').at(-1))]).toEqual([hostname, [port]]);
      expect(networks).toEqual(expect.arrayContaining([...(serviceNamed('grafana').networks ?? [])]));
    }
    expect(serviceNamed('grafana').networks).toEqual(['observers']);
    const { providers } = read<{ providers: { options: { path: string } }[] }>('grafana/providers/eligo.yml');
    const mounted = serviceNamed('grafana').volumes?.map((mount) => mount.split(':')[1]);
    for (const { options } of providers) expect(mounted).toContain(options.path);
    expect(environmentOf(serviceNamed('grafana'), {})).toMatchObject({
      GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
      GF_AUTH_DISABLE_LOGIN_FORM: 'true',
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    });
  });
});

it('reaches the collector that docs/deploying.md adds from every component, and the collector reaches outside', () => {
  const text = readFileSync(join(repositoryRoot, 'docs', 'deploying.md'), 'utf8');
  const overrides = [...text.matchAll(/^ {4}services:\n(?: {4}.*\n)+/gm)].map(
    ([block]) => (parse(block) as Pick<ComposeFile, 'services'>).services,
  );
  const { networks = [], volumes = [], command = [] } = overrides.find(({ collector }) => collector)?.collector ?? {};
  for (const name of componentNames) {
    const shared = serviceNamed(name).networks?.filter((network) => networks.includes(network));
    expect(shared, name).toContain('inside');
  }
  expect(networks.filter((network) => compose.networks[network]?.internal !== true)).toEqual(['outside']);
  expect(command).toContain(volumes[0]?.split(':')[1]);
  // The port of the trace viewer, where every component's traces arrive.
  expect(text).toContain('`OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318`');
  expect(text).toContain(`docker network connect ${compose.name}_inside`);
});

describe('the alert rules [D14.215]', () => {
  it('have a severity, a summary and a section of docs/operations.md each', () => {
    const page = readFileSync(join(repositoryRoot, 'docs', 'operations.md'), 'utf8');
    expect(alerts.length).toBeGreaterThan(20);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    for (const { alert, labels, annotations } of alerts) {
      expect(['page', 'ticket'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\S/);
      expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    }
    const sections = [...page.matchAll(/^### (Eligo\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
  });

  it('cover each metric that the table of docs/operations.md has', () => {
    const page = readFileSync(join(repositoryRoot, 'docs', 'operations.md'), 'utf8');
    const [table = ''] = /^\| Metric or check .*?\n\n/ms.exec(page) ?? [];
    const metrics = [...table.matchAll(/^\| (`eligo_.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(eligo_\w+)/g)].map(([, metric = '']) => metric),
    );
    expect(metrics.length).toBeGreaterThan(25);
    const named = new Set(alerts.flatMap(({ expr }) => expr.match(/\beligo_\w+/g) ?? []));
    expect(metrics.filter((metric) => !named.has(metric))).toEqual([]);
  });

  it(`${promtoolPath ? 'fire when promtool runs their cases' : 'are well formed and have cases for promtool, which is not there'}`, () => {
    const { tests } = read<{ tests: AlertCase[] }>('prometheus/alerts.test.yml');
    const expected = tests.flatMap(({ promql_expr_test }) =>
      promql_expr_test.flatMap(({ exp_samples }) => exp_samples.map(({ labels }) => /"(\w+)"/.exec(labels)?.[1])),
    );
    expect([...new Set(expected)].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
    expect(tests.some(({ promql_expr_test: [first] }) => first?.exp_samples.length === 0)).toBe(true);
    for (const rule of alerts) {
      expect(wellFormed(rule.expr), rule.alert).toBe(true);
      expect(rule.for ?? '1m', rule.alert).toMatch(/^\d+[smh]$/);
    }
    // Where Debian's packages are, and in CI, promtool has to run.
    const canBeFetched = process.env.CI !== undefined || spawnSync('apt-get', ['--version']).status === 0;
    if (promtoolPath === undefined && !canBeFetched) return;
    if (promtoolPath === undefined) throw new Error('promtool could not be fetched; its cases were not run');
    const promtool = (...words: string[]) =>
      execFileSync(promtoolPath, words, { cwd: join(folder, 'prometheus'), encoding: 'utf8', stdio: 'pipe' });
    expect(promtool('check', 'config', 'prometheus.yml')).toContain(`${alerts.length} rules found`);
    expect(promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
  });

  it('are not well formed with a bracket or a quote that stays open, or a label without a value', () => {
    expect(wellFormed('sum by (a) (rate(b{c="d", e=~"f|g"}[5m])) > 0')).toBe(true);
    for (const broken of ['sum(a', 'a) > 0', 'a{b="c}', 'a{b}', 'a[5]', 'rate(a[5m)]', 'a >', '']) {
      expect(wellFormed(broken), broken).toBe(false);
    }
  });
});

/** Whether quotes and brackets close, selectors have values, ranges are durations, and nothing ends in an operator. */
function wellFormed(expression: string): boolean {
  const rest = expression.replaceAll(/"[^"]*"/g, '""');
  if (/^\s*$|[-+*/<>=]\s*$|"(?!")(?<!"")/.test(rest)) return false;
  const selectors = /\{\s*(?:\w+\s*(?:=~|!~|!=|=)\s*""\s*,?\s*)*\}/g;
  const plain = rest.replaceAll(selectors, '').replaceAll(/\[\d+[smhd]\]/g, '');
  if (/[[\]{}"]/.test(plain)) return false;
  let open = 0;
  for (const sign of plain.replaceAll(/[^()]/g, '')) {
    open += sign === '(' ? 1 : -1;
    if (open < 0) return false;
  }
  return open === 0;
}
