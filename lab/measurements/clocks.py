"""Fits a line through each SM's clock readings and prints what is left over; see clocks.md."""
import numpy as np, sys
d=np.fromfile(sys.argv[1],dtype=np.uint64).reshape(132,-1,4).astype(np.int64)
a,g,b=d[:,:,0],d[:,:,1],d[:,:,2]
print('span', np.percentile(b-a,[0,50,99,100]))
c=(a+b)/2
g0=g.min(); G=(g-g0).astype(float); C=c-c[:,:1]
print('kernel ns', G.max(), 'distinct g mod 32', set((g%32).ravel().tolist()))
sl=[]; sp=[]; 
for s in range(132):
    p=np.polyfit(C[s],G[s],1); sl.append(p[0]); r=G[s]-np.polyval(p,C[s]); sp.append(r.max()-r.min())
sl=np.array(sl); print('MHz per SM', (1000/sl).min(), (1000/sl).mean(), (1000/sl).max()); print('spread of residuals ns', np.percentile(sp,[0,50,90,100]))
p=np.median(sl)
sp2=[]
for s in range(132):
    r=G[s]-p*C[s]; sp2.append(r.max()-r.min())
print('spread with the common slope', np.percentile(sp2,[0,50,90,100]))
dg=np.diff(g[0]); print('steps', dict(zip(*np.unique(dg,return_counts=True))))
r=G[0]-np.polyval(np.polyfit(C[0],G[0],1),C[0]); print('residuals SM0 every 64th', np.round(r[::64]).astype(int).tolist())
w=np.argmax(sp); r=G[w]-np.polyval(np.polyfit(C[w],G[w],1),C[w]); print('worst', np.round(r[::64]).astype(int).tolist(), 'at', r.argmax(), r.argmin())
# entry and exit only
e=np.array([G[s][-1]-G[s][0] for s in range(132)])/np.array([C[s][-1] for s in range(132)]); print('two-anchor slope MHz', (1000/e).min(), (1000/e).max())
