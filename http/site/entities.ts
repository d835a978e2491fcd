/**
 * Bots, servers, teams and packs as the rows of a list, with their pictures and addresses. Pure.
 */

import type { FoundRow } from '../../storage/catalogue/lists/search.ts';
import type { PackRow } from '../../storage/catalogue/packs/packs.ts';
import type { IndexBotRow, IndexServerRow } from '../../storage/catalogue/shared/index-rows.ts';
import { escapeTag } from '../api/search.ts';
import { type Html, render, type Site } from './site.ts';

/** What a row of a list shows. */
export interface ListedEntity
  extends Pick<FoundRow, 'kind' | 'id' | 'name' | 'avatar' | 'short' | 'tags' | 'nsfw' | 'votes'> {
  /** The path of its page. */
  readonly path: string;
  /** A second number, as a decimal; `''` for none. */
  readonly size: string;
  readonly sizeLabel: string;
}

export interface ListedGroup {
  readonly title: string;
  readonly entities: readonly ListedEntity[];
}

/** Formats a decimal: `1234567` as `1,234,567`. */
export const formatNumber = (decimal: string | number): string => {
  const digits = String(decimal);
  let text = digits.slice(-3);
  for (let end = digits.length - 3; end > 0; end -= 3) {
    const group = digits.slice(Math.max(0, end - 3), end);
    text = group === '-' ? `-${text}` : `${group},${text}`;
  }
  return text;
};

/** Builds the path of the page of a bot, server or team. */
export const toListingPath = (codeOrId: string): string => `/@${encodeURIComponent(codeOrId)}`;

/** Builds the path of a pack's page: one of its own, because a vanity code may be equal to the pack's url. */
export const toPackPath = (url: string): string => `/@packs/${encodeURIComponent(url)}`;

export const toListedBot = (row: IndexBotRow): ListedEntity => ({
  ...row,
  kind: 'bot',
  id: row.bot_id,
  path: toListingPath(row.vanity || row.bot_id),
  name: row.person?.display_name || row.person?.username || row.bot_id,
  avatar: row.person?.avatar ?? '',
  size: row.servers,
  sizeLabel: row.servers === '1' ? 'server' : 'servers',
});

export const toListedServer = (row: IndexServerRow): ListedEntity => ({
  ...row,
  kind: 'server',
  id: row.server_id,
  path: toListingPath(row.vanity || row.server_id),
  size: String(row.total_members),
  sizeLabel: row.total_members === 1 ? 'member' : 'members',
});

export const toListedPack = (row: PackRow): ListedEntity => ({
  ...row,
  kind: 'pack',
  id: row.url,
  path: toPackPath(row.url),
  avatar: '',
  nsfw: false,
  size: '',
  sizeLabel: '',
});

/** Quiet colours; a name without a picture gets one of them. */
const tones = 6;

const computeTone = (name: string): number => {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9_973;
  return sum % tones;
};

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Renders the picture of an entity, or the first letter of its name. */
export const renderPicture = (site: Site, name: string, avatar: string): Html => {
  if (site.mayShow(avatar))
    return render`<img class="picture" src="${avatar}" alt="" loading="lazy" referrerpolicy="no-referrer">`;
  const [first] = segmenter.segment(name.trim() || '?');
  const letter = (first?.segment ?? '?').toUpperCase();
  return render`<span class="picture tone${computeTone(name)}" aria-hidden="true">${letter}</span>`;
};

export const renderTags = (tags: readonly string[]): Html =>
  render`<ul class="tags" aria-label="Tags">${tags.map(
    (tag) =>
      render`<li><a href="/search?tags=${encodeURIComponent(escapeTag(tag))}" dir="auto">${tag}</a></li>`,
  )}</ul>`;

const renderRow = (site: Site, entity: ListedEntity, showsKind: boolean): Html => {
  const target = `${entity.kind}/${entity.id}`;
  return render`<li>
${renderPicture(site, entity.name, entity.avatar)}
<div class="about"><a class="name" href="${entity.path}" dir="auto">${entity.name}</a>${
    showsKind ? render` <span class="kind">${entity.kind}</span>` : null
  }${entity.nsfw ? render` <span class="kind adult">18+</span>` : null}
<p dir="auto">${entity.short}</p></div>
<p class="figures"><b data-target="${target}" data-metric="votes">${formatNumber(entity.votes)}</b> ${
    entity.votes === 1 ? 'vote' : 'votes'
  }${
    entity.size === ''
      ? null
      : render`<br><span data-target="${target}" data-metric="servers">${formatNumber(entity.size)}</span>
${entity.sizeLabel}`
  }</p>
</li>
`;
};

/** Renders a list of entities, each with its kind if there are several kinds. */
export const renderEntities = (site: Site, entities: readonly ListedEntity[]): Html => {
  const showsKind = new Set(entities.map(({ kind }) => kind)).size > 1;
  return render`<ul class="entities">
${entities.map((entity) => renderRow(site, entity, showsKind))}</ul>`;
};

/** Renders a list with its title. */
export const renderGroup = (site: Site, { title, entities }: ListedGroup): Html =>
  render`<section class="card"><h2>${title}</h2>
${renderEntities(site, entities)}</section>
`;
