/**
 * The front page: what this is, how much is in it, the boards, what is new, and with the demo three requests
 * to try.
 *
 * One text serves all visitors for a second. What cannot be read is left out, or shown as not available, so
 * the page is served while SQL is away.
 */
import { rankedKinds } from '../../engine/rules/boards.ts';
import type { BoardPage } from '../../storage/catalogue/boards/boards.ts';
import type { App } from '../app.ts';
import type { Reply } from '../response/reply.ts';
import {
  formatNumber,
  type ListedEntity,
  type ListedGroup,
  renderGroup,
  renderPicture,
  toListedBot,
  toListedPack,
  toListedServer,
} from './entities.ts';
import { renderPage } from './layout.ts';
import { type Html, type HtmlValue, render, type Site, siteDescription } from './site.ts';

/** What the page shows; `null` for what cannot be read now. */
interface FrontParts {
  readonly counts: readonly (readonly [label: string, count: number | null])[];
  readonly boards: readonly { readonly kind: string; readonly places: readonly Place[] | null }[];
  readonly newest: readonly ListedGroup[];
}
interface Place {
  readonly position: number;
  readonly votes: number;
  readonly entity: ListedEntity;
}

const placesShown = 10;
const newestShown = 6;

const toPlaces = ({ edition, bots, servers }: BoardPage): readonly Place[] =>
  [
    ...bots.map(({ row, place }) => ({ place, entity: toListedBot(row) })),
    ...servers.map(({ row, place }) => ({ place, entity: toListedServer(row) })),
  ]
    .slice(0, placesShown)
    .map(({ place, entity }) => ({
      position: place + 1,
      votes: edition?.places[place]?.score ?? 0,
      entity,
    }));

const orNull = <Value>(reading: Promise<Value>): Promise<Value | null> => reading.catch(() => null);

const readParts = async ({ catalogue }: App): Promise<FrontParts> => {
  const [bots, servers, packs, ...boards] = await Promise.all([
    orNull(catalogue.bots.page(1)),
    orNull(catalogue.servers.page(1)),
    orNull(catalogue.packs.page(1)),
    ...rankedKinds.map((kind) => orNull(catalogue.boards.page(kind, 'votes', 1))),
  ]);
  return {
    counts: [
      ['Bots', bots?.count ?? null],
      ['Servers', servers?.count ?? null],
      ['Packs', packs?.count ?? null],
    ],
    boards: rankedKinds.map((kind, index) => {
      const page = boards[index];
      return { kind, places: page ? toPlaces(page) : null };
    }),
    newest: [
      { title: 'New bots', entities: (bots?.rows ?? []).slice(0, newestShown).map(toListedBot) },
      { title: 'New packs', entities: (packs?.rows.packs ?? []).slice(0, newestShown).map(toListedPack) },
    ],
  };
};

const renderPlace = (site: Site, { position, votes, entity }: Place): Html => {
  const { kind, id, name, path, short } = entity;
  const title = site.settings.sitePages === 'on' ? render`<a href="${path}" dir="auto">${name}</a>` : name;
  const spark = `/badges/${kind}s/${encodeURIComponent(id)}/spark-votes.svg`;
  return render`<tr><td>${position}</td>
<td class="name" title="${short}">${renderPicture(site, name, entity.avatar)}${title}</td>
<td class="trend"><img src="${spark}" alt="" width="120" height="20" loading="lazy"></td>
<td class="number" data-target="${kind}/${id}" data-metric="votes">${formatNumber(votes)}</td></tr>
`;
};

const boardHead = render`<thead><tr><th scope="col">#</th><th scope="col">Name</th>
<th scope="col" class="trend">7 days</th><th scope="col" class="number">Votes</th></tr></thead>`;

const renderBoard = (site: Site, { kind, places }: FrontParts['boards'][number]): Html => {
  const isEmpty = places?.length === 0;
  const body: HtmlValue =
    places === null || isEmpty
      ? render`<p class="note">${isEmpty ? 'No votes yet.' : 'The numbers are not available now.'}</p>`
      : render`<table>${boardHead}
<tbody>${places.map((place) => renderPlace(site, place))}</tbody></table>`;
  return render`<section class="card board" aria-labelledby="top-${kind}s">
<h2 id="top-${kind}s">Most votes this month: ${kind}s</h2>
<div id="board-${kind}s">${body}</div></section>
`;
};

const renderNewest = (site: Site, group: ListedGroup): HtmlValue =>
  group.entities.length === 0 || site.settings.sitePages === 'off' ? null : renderGroup(site, group);

const renderFront = (site: Site, { counts, boards, newest }: FrontParts): Html =>
  renderPage(site, {
    title: site.settings.siteName,
    description: siteDescription,
    path: '/',
    scripts: ['front.ts'],
    wide: true,
    body: render`<section class="intro"><h1 dir="auto">${site.settings.siteName}</h1>
<p>A public directory of bots, chat servers, teams and packs: bots post their statistics, users vote,
everyone reads the totals. Everything here comes from <a href="/docs">an interface</a> that you can use,
too.</p></section>
<dl class="counts">${counts.map(
      ([label, count]) =>
        render`<div><dt>${label}</dt>
<dd id="${label.toLowerCase()}">${count === null ? '–' : formatNumber(count)}</dd></div>
`,
    )}</dl>
<section id="try" class="card" aria-labelledby="try-title" hidden>
<h2 id="try-title">Try it</h2>
<p>With the demo’s tokens. Paste a command into a terminal, or send it from here and watch the numbers
below.</p>
<div id="requests" class="grid"></div>
</section>
<div class="grid">
${boards.map((board) => renderBoard(site, board))}${newest.map((group) => renderNewest(site, group))}</div>`,
  });

/** How long one text serves all visitors. */
const textAgeMs = 1_000;

/** Creates the handler of the front page, which stores its last text. */
export const createFrontPage = (site: Site): ((app: App) => Promise<Reply>) => {
  let last: { readonly atMs: number; readonly reply: Promise<Reply> } | null = null;
  const read = async (app: App): Promise<Reply> => ({
    status: 200,
    text: renderFront(site, await readParts(app)).text,
    tag: { etag: '' },
    headers: site.sharedPageHeaders,
  });
  return (app) => {
    const nowMs = app.clock.monotonicMs();
    if (last === null || nowMs - last.atMs >= textAgeMs) last = { atMs: nowMs, reply: read(app) };
    return last.reply;
  };
};
