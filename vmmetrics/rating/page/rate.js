// The rater's page: consent, practice, trials, end. The server knows where the rater is; this page shows it.

import { button, h } from "../../viewer/page/core.js";
import { MarkField } from "./marks.js";
import { RatedClip, refreshRate } from "./player.js";
import { base, eraseAnswers, saveAnswers, send } from "./transport.js";

const AGAIN = 2000; // ms until an answer that did not arrive is sent again
const FORMAT = 'video/mp4; codecs="avc1.64001f"';
const KEYS = "1234567890-"; // of the answers, in their order
const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const foot = /** @type {HTMLElement} */ (document.getElementById("foot"));

/** @type {StudyPage} */
let study;
/** @type {Record<string, string>} */
let texts = {};
/** What the keys do on this screen. @type {(key: string) => boolean} */
let onKey = () => false;
/** Clips that were loaded ahead, by name. @type {Map<string, Promise<string>>} */
const ahead = new Map();
/** The session that is shown. @type {string | undefined} */
let session;
let refresh = 0;
let practised = false;

const load = (/** @type {string} */ name) =>
  ask(`clip/${name}`, undefined, async (answer) => URL.createObjectURL(await answer.blob()));
const random = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Refused extends Error {
  /** @param {number} status @param {string} reason */
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/**
 * Ask the server until it answers.
 * @param {string} path
 * @param {unknown} [body] What is posted.
 * @param {(answer: Response) => Promise<any>} read What is taken of the answer.
 * @returns {Promise<any>}
 */
async function ask(path, body, read = (answer) => answer.json()) {
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await send(path, body);
      if (answer.ok) {
        const value = await read(answer);
        if (tries) say("");
        return value;
      }
      if (![425, 429, 502, 503, 504].includes(answer.status))
        throw new Refused(answer.status, (await answer.json().catch(() => ({}))).reason ?? "");
    } catch (error) {
      if (error instanceof Refused) throw error;
      say(texts.offline ?? "");
    }
    await sleep(AGAIN);
  }
}

/** Show a screen. @param {...any} parts */
function show(...parts) {
  page.replaceChildren(...parts.flat(Infinity).filter(Boolean), h("output.fault", { id: "said", role: "status" }));
  onKey = () => false;
}

/** @param {string} text */
function say(text) {
  const said = document.getElementById("said");
  if (said) said.textContent = text;
}

/** Show where the rater is. @param {RaterView} view */
async function proceed(view) {
  foot.replaceChildren();
  page.dataset.step = view.step;
  session = view.session;
  if (view.key) history.replaceState(null, "", `${base}#r=${view.key}`);
  if (view.step === "consent") return consent();
  if (view.step === "trial") {
    footer();
    if (!practised) for (const trial of view.training ?? []) await practice(trial);
    practised = true;
    return rate(view);
  }
  const words = { full: texts.full, withdrawn: texts.withdrawn, done: texts.done }[view.step];
  show(
    h("p", words),
    view.url && h("p", h("a", { href: view.url, rel: "noreferrer" }, texts.done_url)),
    view.further && button(texts.further, () => step("further"), { class: "main" }),
    saveAnswers && h("div", saving({ class: "main" }), button(texts.erase, erase, { id: "erase" })),
    view.step === "withdrawn" && other(),
  );
  if (view.step === "done") footer();
  function erase() {
    sure(
      "erase",
      () => {
        eraseAnswers?.();
        foot.replaceChildren();
        show(h("p", texts.erased));
      },
      () => proceed(view),
    );
  }
}

/** Take a step, and show what comes of it. @param {string} path @param {object} [body] */
async function step(path, body) {
  try {
    await proceed(await ask(path, { session, ...body }));
  } catch (error) {
    await recover(error);
  }
}

/** @param {unknown} error */
async function recover(error) {
  if (error instanceof Refused && error.message === "has_link") return show(h("p", texts.has_link));
  // Another tab may have gone on, or begun another session: then the clips of this page are not there (404).
  if (error instanceof Refused && [404, 409].includes(error.status)) return proceed(await ask("state"));
  console.error(String(error));
  show(h("p.fault", texts.fault || String(error)));
}

function consent() {
  const age = h("input", { type: "checkbox", id: "age" }),
    agree = h("input", { type: "checkbox", id: "agree" }),
    key = random();
  const begin = button(texts.begin, go, { class: "main", disabled: true, id: "begin" });
  async function go() {
    begin.disabled = true;
    const given = new URLSearchParams(location.search);
    const kept = study.parameters.filter((name) => given.has(name)).map((name) => [name, given.get(name)]);
    const asked = { token: key, consent: study.consent, of_age: true, parameters: Object.fromEntries(kept) };
    try {
      await proceed(await ask("begin", asked));
    } catch (error) {
      await recover(error);
    }
  }
  const check = () => (begin.disabled = !(age.checked && agree.checked));
  for (const box of [age, agree]) box.addEventListener("change", check);
  show(
    h("h1", texts.consent_title),
    ["purpose", "data", "pack", "withdraw", "flashing", "contact"].map(
      (name) => texts[`consent_${name}`] && h("p", texts[`consent_${name}`]),
    ),
    h("div.agree", h("label", age, texts.consent_age), h("label", agree, texts.consent_agree)),
    h("div", begin),
  );
}

const other = () => texts.other && button(texts.other, somebodyElse, { id: "other" });
const saving = (more = {}) => saveAnswers && button(texts.save, saveAnswers, { id: "save", ...more });

/** Another rater at the same browser begins. */
function somebodyElse() {
  foot.replaceChildren();
  practised = false;
  page.dataset.step = "consent";
  consent();
}

/** Ask before something is done for good. @param {string} name @param {() => void} act @param {() => void} back */
const sure = (name, act, back) =>
  foot.replaceChildren(
    h("span", texts[`${name}_sure`]),
    button(texts[`${name}_yes`], act),
    button(texts[`${name}_no`], back),
  );

/** The link that resumes, and the way out. */
function footer() {
  const parts = [
    button(texts.withdraw, () => sure("withdraw", () => step("withdraw"), footer), { id: "withdraw" }),
    other(),
  ];
  const help = [
    saving(),
    h("span", study.marks ? texts.mark_keys : texts.keys),
    h("span", texts.link, " ", !saveAnswers && h("a", { href: location.href }, location.href)),
  ];
  foot.replaceChildren(...[...parts, ...(page.dataset.step === "trial" ? help : [])].filter(Boolean));
}

/** @returns {[number, string][]} The answers and their texts with their keys. */
const choices = () =>
  study.choices.map(([value, name], at) => [
    value,
    [at + 1, at > 8 && `(${KEYS[at]})`, name].filter(Boolean).join(" "),
  ]);

/** The clips of a trial, loaded. @param {RatedTrial} trial @returns {Promise<RatedClip[]>} */
async function clipsOf(trial) {
  const sources = await Promise.all(trial.media.map((name) => ahead.get(name) ?? load(name)));
  const clips = sources.map((source, at) => new RatedClip(source, study.labels[at]));
  await Promise.all(clips.map((clip) => clip.ready()));
  return clips;
}

/** Play clips together, or in turn: then all in one place, with grey between them. @param {RatedClip[]} clips */
async function playAll(clips) {
  if (!study.in_turn) return void (await Promise.all(clips.map((clip) => clip.play())));
  for (const [at, clip] of clips.entries()) {
    for (const one of clips) one.root.hidden = true;
    if (at) await sleep(1000 * study.grey);
    clip.root.hidden = false;
    await clip.play();
  }
}

/**
 * Show the clips of a trial and wait for the answer.
 * @param {RatedTrial} trial
 * @param {any[]} head What stands above.
 * @param {(values: Record<string, number>, shown: any, again: any) => Promise<void>} [after] Shows the clips again, and
 *   the button that plays them.
 * @returns {Promise<{ values: Record<string, number>, marks: RatedMark[], seconds: number, clips: PlaybackRecord[], display: object }>}
 */
async function vote(trial, head, after) {
  const loading = h("p", texts.loading);
  show(head, loading);
  const clips = await clipsOf(trial);
  if (!loading.isConnected) return new Promise(() => {}); // another screen is shown, as after withdrawal
  let hidden = 0,
    away = document.hidden ? performance.now() : 0,
    ended = 0,
    before = 0, // seconds out of sight until the end of the clips
    playing = false;
  const outOfSight = () => hidden + (away && (performance.now() - away) / 1000);
  const seen = () => {
    hidden = outOfSight();
    away = document.hidden ? performance.now() : 0;
  };
  document.addEventListener("visibilitychange", seen);
  const options = choices();
  /** @type {Record<string, number>} */
  const values = {};
  const label = options.find(([value]) => value === trial.asked)?.[1] ?? "";
  const asked = trial.asked === null ? "" : texts.asked.replace("{choice}", label);
  const questions = Object.entries(trial.questions ?? study.questions),
    [first, asks] = questions[0];
  const marking = study.marks
    ? new MarkField(clips[0], options, KEYS, asks, asked, study.marks, texts, (value) => choose(first, value))
    : null;
  const fields = marking
    ? [marking.root]
    : questions.map(([name, question]) =>
        h(
          "fieldset",
          { disabled: true, "data-dimension": name },
          h("legend", asked || question),
          h(
            "div.choices",
            options.map(([value, text]) =>
              h("label", h("input", { type: "radio", name, value, onchange: () => choose(name, value) }), text),
            ),
          ),
        ),
      );
  const again = button(texts.play, play, { id: "play" }),
    next = button(texts.next, () => done(), { class: "main", disabled: true, id: "next" });
  /** @param {string} name @param {number | null} value Null for none yet. */
  function choose(name, value) {
    if (value === null) delete values[name];
    else values[name] = value;
    next.disabled = fields.length !== Object.keys(values).length;
  }
  async function play() {
    if (playing) return;
    if (marking?.open) return marking.toggle();
    playing = again.disabled = true;
    try {
      await playAll(clips);
      if (!ended) [ended, before] = [performance.now(), outOfSight()];
      if (!marking) again.textContent = texts.replay;
      say("");
      for (const field of fields) field.disabled = false;
      if (marking) marking.start();
      else if (!fields[0].contains(document.activeElement)) fields[0].querySelector("input").focus();
    } catch {
      // the browser wants a click before it plays, or a clip was paused: the button plays all from the beginning
      for (const clip of clips) clip.video.pause();
    }
    playing = again.disabled = false;
  }
  /** @type {() => void} */
  let done = () => {};
  const given = new Promise((resolve) => (done = () => resolve(undefined)));
  marking?.transport.prepend(again);
  const shown = h(
    study.in_turn ? "div.clips.turn" : "div.clips",
    clips.map((clip) => clip.root),
  );
  show(
    head,
    marking
      ? h("div.marking", h("div", shown, marking.transport), h("div", fields, h("div", next)))
      : [shown, h("div", again), ...fields, h("div", next)],
  );
  say(texts.watch);
  onKey = (key) => {
    if (key === " ") play();
    else if (key === "Enter" && !next.disabled) done();
    else if (marking) return marking.key(key);
    else if (KEYS.includes(key) && ended) {
      const field = fields.find((one) => !(one.dataset.dimension in values)) ?? fields[fields.length - 1];
      const input = field.querySelectorAll("input")[KEYS.indexOf(key)];
      input?.click();
      (fields.find((one) => !(one.dataset.dimension in values))?.querySelector("input") ?? input)?.focus();
    } else return false;
    return true;
  };
  play();
  await given;
  onKey = () => false;
  for (const control of [next, ...fields]) control.disabled = true;
  document.removeEventListener("visibilitychange", seen);
  seen();
  const record = {
    values,
    marks: marking?.all ?? [],
    seconds: (performance.now() - ended) / 1000 - (hidden - before),
    clips: clips.map((clip) => clip.record),
    display: {
      refresh,
      window: [innerWidth, innerHeight],
      screen: [screen.width, screen.height],
      ratio: devicePixelRatio,
      zoom: visualViewport?.scale ?? 1,
      full: Boolean(document.fullscreenElement),
      hidden,
    },
  };
  shown.inert = true; // no more marks
  await after?.(values, shown, again);
  for (const clip of clips) clip.close();
  return record;
}

/** @param {RatedTrial} trial */
async function practice({ expected, ...trial }) {
  const title = h("h1", texts.training_title);
  await vote(trial, [title, h("p", texts.training_text)], async (values, shown, again) => {
    if (expected === null || expected === undefined) return;
    const value = values[Object.keys(study.questions)[0]];
    const right = Math.abs(value - expected) <= study.tolerance;
    await new Promise((resolve) => {
      const go = button(texts.next, () => resolve(undefined), { class: "main", id: "next" });
      show(title, h("p", right ? texts.training_right : texts.training_wrong), shown, h("div.row", again, go));
      onKey = (key) => {
        if (key === " ") again.click();
        else if (key === "Enter") go.click();
        return " Enter".includes(key);
      };
    });
  });
}

/** @param {RaterView} view */
async function rate(view) {
  const { trial, number = 0, total = 0, following = [] } = view;
  if (!trial) return;
  try {
    const shown = texts.progress.replace("{number}", String(number + 1)).replace("{total}", String(total));
    const answer = vote(trial, [
      h("progress", { max: total, value: number, "aria-label": shown }),
      h("p.position", shown),
    ]);
    for (const name of ahead.keys()) if (!following.includes(name)) ahead.delete(name);
    for (const name of following) {
      const source = load(name);
      source.catch(() => ahead.delete(name)); // it is asked for again when it is shown
      ahead.set(name, source);
    }
    await step("answer", { id: random(), trial: number, ...(await answer) });
  } catch (error) {
    await recover(error);
  }
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target),
    isPressed = target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement;
  if ((event.repeat && !",.".includes(event.key)) || event.ctrlKey || event.altKey || event.metaKey) return;
  if (isPressed && " Enter".includes(event.key)) return;
  if (onKey(event.key)) event.preventDefault();
});

async function start() {
  study = await ask("study");
  texts = study.texts;
  document.title = texts.title;
  Object.assign(document.documentElement, { lang: texts.language, dir: texts.direction });
  if (!document.createElement("video").canPlayType(FORMAT)) return show(h("p", texts.unplayable));
  const key = new URLSearchParams(location.hash.slice(1)).get("r");
  let view = key ? await ask("resume", { token: key }).catch(() => null) : null;
  view ??= await ask(`state${location.search}`);
  refresh = await refreshRate();
  await proceed(view);
}

start().catch(recover);
