// usage: node firefox.cjs NODE_MODULES FIREFOX URL CLIP; prints a JSON object of what was seen.
const [, , modules, program, url, clip] = process.argv;
const puppeteer = require(`${modules}/puppeteer-core`);

const play = async (clip) => {
  const { url } = vm.data.media(vm.data.find(clip));
  const video = vm.h("video", { src: url });
  video.muted = true;
  document.body.append(video);
  let frames = 0;
  const count = () => { frames += 1; video.requestVideoFrameCallback(count); };
  video.requestVideoFrameCallback(count);
  await new Promise((done, fail) => {
    video.onended = done;
    video.onerror = () => fail(new Error(video.error.message));
    video.play().catch(fail);
  });
  return { frames, ended: video.currentTime };
};

// On a loaded machine Firefox may not get its decoder's process started in time and calls the video unsuitable.
const played = (page, clip, tries) =>
  page.evaluate(play, clip).catch((error) => {
    if (tries === 1) throw error;
    console.error(`playing again: ${error.message}`);
    return played(page, clip, tries - 1);
  });

(async () => {
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: program, headless: true });
  try {
    const page = await browser.newPage();
    const faults = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => { if (message.type() === "error") faults.push(message.text()); });
    await page.goto(url);
    await page.waitForSelector("html[data-ready]");
    const clips = await page.evaluate(() => vm.data.n);
    const filtered = await page.evaluate(() => { vm.go({ q: "a dog runs" }); return vm.rows().length; });
    console.log(JSON.stringify({ clips, filtered, ...(await played(page, clip, 3)), faults }));
  } finally {
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exit(1); });
