// A version of a plugin: manifest, grant requested and given, plan, history.

import { read } from './api.js';
import { diff, document_, same, table } from './diff.js';
import { badge, fill, h, short, when } from './dom.js';

const ROLES = { running: 'runs', next: 'waits or is rolled out', before: 'ran before, and a rollback returns to it', rejected: 'was rolled back' };

/** A plan or a comparison of a rollout. */
export function planOf(rollout) {
  if (!rollout) return null;
  const parts = [];
  const counts = (value) => Object.entries(value ?? {}).filter(([, one]) => typeof one !== 'object').map(([name, one]) => `${name}: ${one}`).join(' · ');
  parts.push(h('p', null, badge('rolling-out'), ` ${rollout.phase}${rollout.percent ? `, ${rollout.percent} % of the objects` : ''}, since ${rollout.seconds} s`, rollout.reason ? `: ${rollout.reason}` : ''));
  if (rollout.plan) parts.push(h('h3', null, 'Plan'), document_(rollout.plan, 'Text of the plan'));
  if (rollout.compared) parts.push(h('p.note', null, `Compared: ${counts(rollout.compared)}`));
  const differences = Array.isArray(rollout.differences) ? rollout.differences : Object.entries(rollout.differences ?? {}).map(([field, objects]) => ({ field, objects }));
  if (differences.length) parts.push(h('h3', null, 'Fields that differ'), table(differences, 'Table of the fields that differ'));
  if (rollout.examples?.length) parts.push(h('h3', null, 'Examples'), table(rollout.examples, 'Table of examples'));
  if (rollout.heldObjects?.length) parts.push(h('h3', null, 'Objects that stay with the version that runs'), table(rollout.heldObjects, 'Table of held objects'));
  return parts;
}

/** The list of the versions that ran. */
export function history(plugin, revisions) {
  if (!revisions?.length) return h('p.note', null, 'The host keeps no history of this plugin.');
  return h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Table of the versions that ran' }, h('table', null,
    h('thead', null, h('tr', null, ['Revision', 'Version', 'Since', 'Digest'].map((title) => h('th', { scope: 'col' }, title)))),
    h('tbody', null, revisions.map((one) => h('tr', null,
      h('th', { scope: 'row' }, one.revision), h('td', null, one.version), h('td', null, when(one.since)),
      h('td', null, h('a', { href: `#/plugins/${encodeURIComponent(plugin)}/versions/${encodeURIComponent(one.digest)}` }, short(one.digest))))))));
}

export async function show(main, signal, [plugin, digest]) {
  const bare = digest.replace('sha256:', '');
  const [found, entry] = await Promise.all([
    read(`/page/plugins/${encodeURIComponent(plugin)}/versions`, {}, signal), read(`/page/plugins/${encodeURIComponent(plugin)}`, {}, signal)]);
  const is = (one) => (one?.digest ?? '').replace('sha256:', '') === bare;
  const version = found?.versions?.find(is);
  const revision = found?.revisions?.find?.(is);
  if (!version && !revision) {
    fill(main, h('h1', null, 'Version'), h('p', null, `The host does not know version ${short(digest)} of plugin ${plugin} any more.`));
    return { title: 'Version' };
  }
  const now = entry?.plugin ?? {};
  const rollout = is(now.rollout) ? now.rollout : null;
  const facts = [['Plugin', h('a', { href: `#/plugins/${encodeURIComponent(plugin)}` }, plugin)], ['Digest', h('code', null, `sha256:${bare}`)]];
  if (version) facts.push(['Role', `${ROLES[version.role] ?? version.role}${version.reason ? `: ${version.reason}` : ''}`]);
  if (revision) facts.push(['Revision', `${revision.revision}`], ['Since', when(revision.since)]);
  if (is(now.next)) facts.push(['State', [badge(now.next.state), now.next.reason ? ` ${now.next.reason}` : '']]);
  const parts = [h('div.head', null, h('h1', null, `${plugin} `, h('span.soft', null, (version ?? revision).version))),
    h('dl.facts', null, facts.map(([name, value]) => [h('dt', null, name), h('dd', null, value)]))];
  if (version?.missing?.length) {
    parts.push(h('section.alert', { 'aria-labelledby': 'missing' }, h('h2', { id: 'missing' }, 'Missing in the grant'), h('ul', null, version.missing.map((line) => h('li', null, h('code', null, line))))));
  }
  if (rollout) parts.push(h('section', { 'aria-labelledby': 'plan' }, h('h2', { id: 'plan' }, 'Rollout and plan'), planOf(rollout)));
  const grant = version?.grant ?? revision?.grant;
  if (version?.asked && grant) {
    const equal = same(version.asked, grant);
    parts.push(h('section', { 'aria-labelledby': 'grant' }, h('h2', { id: 'grant' }, 'Grant: requested and given'),
      h('p.note', null, equal ? 'The grant is exactly what the manifest asks for.' : '− is requested by the manifest and not given so; + is given in addition or in another form. Values of the configuration are not shown.'),
      diff(version.asked, grant, 'Requested grant and given grant')));
  } else if (version?.asked) {
    parts.push(h('section', { 'aria-labelledby': 'grant' }, h('h2', { id: 'grant' }, 'Grant'), h('p', null, 'There is no grant. The manifest asks for this:'), document_(version.asked, 'Text of the requested grant')));
  } else if (grant) parts.push(h('section', { 'aria-labelledby': 'grant' }, h('h2', { id: 'grant' }, 'Grant of then'), document_(grant, 'Text of the grant')));
  if (version?.manifest) parts.push(h('section', { 'aria-labelledby': 'manifest' }, h('h2', { id: 'manifest' }, 'Manifest'), document_(version.manifest, 'Text of the manifest')));
  parts.push(h('section', { 'aria-labelledby': 'history' }, h('h2', { id: 'history' }, 'Versions that ran'), history(plugin, found?.revisions)));
  fill(main, parts);
  return { title: `${plugin} ${(version ?? revision).version}` };
}
