bash /tmp/net/score.sh /work/wt/base base
bash /tmp/net/score.sh /work/wt/final final
